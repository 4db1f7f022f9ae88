package x402

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// Terms are the prices, and the token and address that payments are accepted in.
type Terms struct {
	Token Token
	PayTo string
	// Prices holds the price of each paid route by its id, a decimal number of the token.
	Prices    map[string]string
	Window    time.Duration // how long a new authorization should be valid
	PublicURL string
	// Discovery describes a request of a route, by its path, to indexes of paid resources: the value of the
	// extension "bazaar", or nil. A nil function offers no extension.
	Discovery func(routeID, path string) any
}

// Requirements is one way to pay, in the form of the protocol.
type Requirements struct {
	Scheme            string `json:"scheme"`  // always "exact"
	Network           string `json:"network"` // eip155:<chain id>
	Amount            string `json:"amount"`  // in the token's smallest units, a decimal integer
	Asset             string `json:"asset"`
	PayTo             string `json:"payTo"`
	MaxTimeoutSeconds int    `json:"maxTimeoutSeconds"` // how long a new authorization should be valid
	Extra             Domain `json:"extra"`
}

// Domain is the part of the token's EIP-712 domain that a signer cannot guess.
type Domain struct {
	// Name is the token's EIP-712 name, which may differ from its symbol.
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Resource is what is paid for.
type Resource struct {
	// URL is the public address of the request without its query, or mcp://tool/ and a name.
	URL         string `json:"url"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

// Challenge asks for a payment.
type Challenge struct {
	X402Version int      `json:"x402Version"` // always 2
	Error       string   `json:"error"`
	Resource    Resource `json:"resource"`
	// Accepts lists the ways to pay; there is always one.
	Accepts []Requirements `json:"accepts"`
	// Extensions holds what extensions of the protocol add, by name; nil for none.
	Extensions map[string]any `json:"extensions,omitempty"`
}

// Header returns the value of the PAYMENT-REQUIRED header.
func (c Challenge) Header() string { return encodeHeader(c) }

// encodeHeader returns the base64 of the JSON of a value. It panics if the value has no JSON.
func encodeHeader(value any) string {
	text, err := governance.JSON(value)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	return base64.StdEncoding.EncodeToString(text)
}

type priceTable struct {
	byRoute map[string]Requirements
	terms   Terms
}

// newPriceTable checks the terms. The error lists all problems.
func newPriceTable(terms Terms) (*priceTable, error) {
	problems := []error{terms.Token.check()}
	if err := checkAddress(terms.PayTo); err != nil {
		problems = append(problems, fmt.Errorf("X402_PAY_TO: %w", err))
	}
	if strings.EqualFold(terms.PayTo, terms.Token.Asset) {
		problems = append(problems, errors.New("X402_PAY_TO: is the contract of the token itself; tokens sent there are lost"))
	}
	if least := 2 * minValidity; terms.Window < least { // a payment that is not sent on in half of it is refused
		problems = append(problems, fmt.Errorf("X402_WINDOW: is %s, want at least %s", terms.Window, least))
	}
	t := &priceTable{byRoute: map[string]Requirements{}, terms: terms}
	for _, route := range slices.Sorted(maps.Keys(terms.Prices)) {
		amount, err := terms.Token.units(terms.Prices[route])
		if err != nil {
			problems = append(problems, fmt.Errorf("price of %s: %w", route, err))
		}
		t.byRoute[route] = terms.requirements(amount)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return t, nil
}

func (t Terms) requirements(amount string) Requirements {
	return Requirements{
		Scheme: scheme, Network: t.Token.Network, Amount: amount, Asset: t.Token.Asset, PayTo: t.PayTo,
		MaxTimeoutSeconds: int(t.Window.Seconds()),
		Extra:             Domain{Name: t.Token.Name, Version: t.Token.Version},
	}
}

func (t *priceTable) challenge(r Request, reason string) Challenge {
	address := r.URL
	var extensions map[string]any
	if strings.HasPrefix(address, "/") {
		address = strings.TrimSuffix(t.terms.PublicURL, "/") + address
		if describe := t.terms.Discovery; describe != nil {
			if described := describe(r.RouteID, r.URL); described != nil {
				extensions = map[string]any{"bazaar": described}
			}
		}
	}
	_, offered := t.offer(r)
	return Challenge{
		X402Version: version, Error: reason,
		Resource: Resource{URL: address, Description: r.Description, MIMEType: cmp.Or(r.MIMEType, "application/json")},
		Accepts:  []Requirements{offered}, Extensions: extensions,
	}
}

// offer returns the price of a request and how it is paid. The price of several routes is the sum of their prices.
func (t *priceTable) offer(r Request) (price string, offered Requirements) {
	if offered, one := t.byRoute[r.RouteID]; one {
		return t.terms.Prices[r.RouteID], offered
	}
	sum, units := decimal.Zero, new(big.Int)
	for route := range strings.SplitSeq(r.RouteID, "+") {
		offered = t.byRoute[route]
		part, _ := new(big.Int).SetString(offered.Amount, 10) // both were checked by newPriceTable
		sum = sum.Add(decimal.RequireFromString(t.terms.Prices[route]))
		units.Add(units, part)
	}
	offered.Amount = units.String()
	return sum.String(), offered
}
