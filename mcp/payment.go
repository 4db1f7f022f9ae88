package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
)

// Members of _meta that payments travel in, by the MCP transport of x402.
const (
	metaPayment = "x402/payment"
	metaReceipt = "x402/payment-response"
)

var errPurchased = errors.New("the payment has bought its answer before")

// paymentOf returns the payment of a request as the header of HTTP has it. Members are in alphabetical order, so
// that a client may write one payment in several ways.
func paymentOf(p params) string {
	given := p.Meta.Payment
	if len(given) == 0 || string(given) == "null" {
		return ""
	}
	var payment any
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.UseNumber()
	if err := decoder.Decode(&payment); err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(encode(payment))
}

// purchaseOf is what a payment for the call buys: the answer to its tool and arguments.
func (c *call) purchaseOf(args map[string]string) api.Purchase {
	var canonical strings.Builder
	canonical.WriteString("mcp\x00" + c.tool.Name)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		canonical.WriteString("\x00" + name + "=" + args[name])
	}
	return api.Purchase{
		Resource: "mcp://tool/" + c.tool.Name, Description: c.tool.Title, Canonical: canonical.String(), Payment: c.payment,
	}
}

// authorize authorizes all reads of the call. The error is errPurchased for an answer that was bought before.
func (c *call) authorize() error {
	if err := c.reader.Authorize(c.purchase); err != nil {
		return err
	}
	if _, repeated := c.reader.Purchased(); repeated {
		return errPurchased
	}
	return nil
}

// paymentRequired is the result of an unpaid call: the terms, as structure and as text, and what to do.
func paymentRequired(failed *apierror.Error, requestID, terms string) result {
	structured, err := base64.StdEncoding.DecodeString(terms)
	if err != nil {
		structured = encode(failed.Envelope(requestID)) // terms are ours, and always base64
	}
	words := failed.Message
	if _, paid := failed.Headers[x402.HeaderReceipt]; !paid && strings.Contains(words, x402.HeaderRequired) {
		words = "this call costs what accepts says: sign a payment for it and call again with the same arguments and the payment in " +
			"_meta[\"" + metaPayment + "\"], or send a partner token in x-service-api-token"
	}
	words = string(failed.Code) + ": " + words + ". (request " + requestID + ")"
	r := resultOf(structured, failed.Headers[x402.HeaderReceipt], string(structured), words)
	r["isError"] = true
	return r
}
