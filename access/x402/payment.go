package x402

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/governance"
)

// MaxHeaderBytes bounds a payment header: a typical one takes 1 KB, one of a contract wallet several.
const MaxHeaderBytes = 16 << 10

// authorization is the EIP-3009 message that was signed. Times are in seconds since 1970.
type authorization struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Value is the amount in the token's smallest units, a decimal integer.
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	// Nonce is chosen by the payer: 0x and 64 hexadecimal digits, usable once per payer.
	Nonce string `json:"nonce"`
}

type exactPayload struct {
	Signature     string        `json:"signature"`
	Authorization authorization `json:"authorization"`
}

// Payment is a payment as it was sent, and what is known of it without a request.
type Payment struct {
	accepted    map[string]any
	payload     exactPayload
	fingerprint string
	// mismatch is why the payment does not fit the present terms, empty if it does. differing lists the fields of
	// the accepted terms that differ.
	mismatch  string
	differing []string

	validAfter, validBefore time.Time
}

// NeedsContract reports whether only the payer's contract can check the signature. Gate.Read checks all others.
func (p *Payment) NeedsContract() bool {
	return len(p.payload.Signature) != 2+2*plainSignatureBytes
}

type envelope struct {
	X402Version float64         `json:"x402Version"`
	Accepted    json.RawMessage `json:"accepted"`
	Payload     exactPayload    `json:"payload"`
}

var (
	secondsForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)
	valueForm   = regexp.MustCompile(`^(0|[1-9][0-9]{0,77})$`)
	// wordForm is that of 32 bytes: a nonce, or the hash of a transaction.
	wordForm      = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
	signatureForm = regexp.MustCompile(`^0x([0-9a-fA-F]{2}){65,}$`)
)

func parsePayment(header string) (Payment, *RefusedError) {
	if len(header) > MaxHeaderBytes {
		return Payment{}, malformed("the payment header is longer than " + strconv.Itoa(MaxHeaderBytes) + " bytes")
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(header, "="))
	if err != nil || len(header)-len(strings.TrimRight(header, "=")) > 2 {
		return Payment{}, malformed("the payment header is not standard base64 (alphabet with + and /)")
	}
	var sent envelope
	if err := json.Unmarshal(text, &sent); err != nil {
		return Payment{}, malformed("the payment header is not base64 of the JSON of a payment: x402Version (a number), accepted, and payload with signature and authorization (six strings)")
	}
	if sent.X402Version != version {
		return Payment{}, malformed("x402Version must be the number 2, not " + strconv.FormatFloat(sent.X402Version, 'g', -1, 64))
	}
	p := Payment{payload: sent.Payload, fingerprint: fmt.Sprintf("%x", sha256.Sum256([]byte(header)))}
	if err := json.Unmarshal(sent.Accepted, &p.accepted); err != nil || p.accepted == nil {
		return Payment{}, malformed("accepted must be an object: the accepted terms")
	}
	return p, p.checkForm()
}

func (p *Payment) checkForm() *RefusedError {
	auth := p.payload.Authorization
	for _, field := range []struct {
		name, text, want string
		form             *regexp.Regexp
	}{
		{"payload.signature", p.payload.Signature, "0x and at least 130 hexadecimal digits", signatureForm},
		{"payload.authorization.from", auth.From, "an address", addressForm},
		{"payload.authorization.to", auth.To, "an address", addressForm},
		{"payload.authorization.value", auth.Value, "a decimal integer as a string", valueForm},
		{"payload.authorization.validAfter", auth.ValidAfter, "seconds since 1970 as a string", secondsForm},
		{"payload.authorization.validBefore", auth.ValidBefore, "seconds since 1970 as a string", secondsForm},
		{"payload.authorization.nonce", auth.Nonce, "0x and 64 hexadecimal digits", wordForm},
	} {
		if !field.form.MatchString(field.text) {
			return malformed(field.name + " must be " + field.want)
		}
	}
	after, _ := strconv.ParseInt(auth.ValidAfter, 10, 64) // matches secondsForm, so it parses
	before, _ := strconv.ParseInt(auth.ValidBefore, 10, 64)
	p.validAfter, p.validBefore = time.Unix(after, 0), time.Unix(before, 0)
	return nil
}

// id identifies the payment. Two signatures over the same nonce are one payment, which can be charged once.
func (p *Payment) id(r Requirements) string {
	auth := p.payload.Authorization
	return strings.ToLower(strings.Join([]string{r.Network, r.Asset, auth.From, auth.Nonce}, "/"))
}

const (
	// minValidity is how long an authorization must still be valid to be submitted.
	minValidity = 6 * time.Second
	// clockSlack is how far the clocks of callers may be ahead. It limits how long payments are stored.
	clockSlack = 10 * time.Minute
)

func (p *Payment) match(r Requirements, now time.Time) {
	auth := p.payload.Authorization
	p.differing = differing(p.accepted, r)
	switch {
	case len(p.differing) > 0:
		p.mismatch = reasonNoMatch
	case !strings.EqualFold(auth.To, r.PayTo):
		p.mismatch = reasonRecipient
	case auth.Value != r.Amount:
		p.mismatch = reasonValue
	case p.validBefore.Before(now.Add(minValidity)),
		p.validBefore.After(now.Add(time.Duration(r.MaxTimeoutSeconds)*time.Second + clockSlack)):
		p.mismatch = reasonValidBefore
	case p.validAfter.After(now):
		p.mismatch = reasonValidAfter
	}
}

// differing returns the accepted terms that are not the offered ones. Additional fields in extra do not count.
func differing(accepted map[string]any, r Requirements) (fields []string) {
	var offered map[string]any
	text, _ := json.Marshal(r)         //nolint:errchkjson // a struct of texts and numbers
	_ = json.Unmarshal(text, &offered) // the same
	extra, _ := accepted["extra"].(map[string]any)
	ours, _ := offered["extra"].(map[string]any)
	for name, value := range ours {
		if !reflect.DeepEqual(extra[name], value) {
			fields = append(fields, "accepted.extra."+name)
		}
	}
	for name, value := range offered {
		if name != "extra" && !reflect.DeepEqual(accepted[name], value) {
			fields = append(fields, "accepted."+name)
		}
	}
	for name := range accepted {
		if _, known := offered[name]; !known {
			fields = append(fields, "accepted."+name)
		}
	}
	slices.Sort(fields)
	return fields
}

// settlement returns the request body for a facilitator. It is built from checked fields and from our own terms
// only, including extensions and resource, so that a facilitator cannot parse it differently.
func (p *Payment) settlement(terms Challenge) ([]byte, error) {
	payload := map[string]any{"x402Version": version, "accepted": terms.Accepts[0], "payload": p.payload}
	if terms.Extensions != nil {
		payload["resource"], payload["extensions"] = terms.Resource, terms.Extensions
	}
	return governance.JSON(map[string]any{
		"x402Version": version, "paymentPayload": payload, "paymentRequirements": terms.Accepts[0],
	})
}

func (t *priceTable) claimOf(p Payment, r Request, now time.Time) (governance.Payment, error) {
	price, offered := t.offer(r)
	settlement, err := p.settlement(t.challenge(r, ""))
	if err != nil {
		return governance.Payment{}, err
	}
	auth := p.payload.Authorization
	return governance.Payment{
		ID: p.id(offered), State: governance.PaymentClaimed, Revision: uint64(now.UnixMicro()),
		RouteID: r.RouteID, Request: r.fingerprint(), Header: p.fingerprint,
		Payer: strings.ToLower(auth.From), PayTo: offered.PayTo, Nonce: strings.ToLower(auth.Nonce),
		Network: offered.Network, Asset: offered.Asset, Symbol: t.terms.Token.Symbol,
		Amount: price, Units: offered.Amount,
		ValidBefore: governance.TimestampOf(p.validBefore),
		ClaimedAt:   governance.TimestampOf(now), ChangedAt: governance.TimestampOf(now),
		Settlement: settlement,
	}, nil
}
