package x402

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"pnyx/test/env"
)

// FuzzParsePayment reads any payment header: an accepted one is sent on as JSON of checked fields.
func FuzzParsePayment(f *testing.F) {
	payment := `{"x402Version":2,"accepted":{"scheme":"exact"},"payload":{"signature":"0x` + strings.Repeat("11", 65) + `","authorization":{"from":"0x1111111111111111111111111111111111111111",` +
		`"to":"0x2222222222222222222222222222222222222222","value":"1","validAfter":"0","validBefore":"9","nonce":"0x1111111111111111111111111111111111111111111111111111111111111111"}}}`
	for _, text := range []string{payment, `{}`, `{"x402Version":2,"accepted":null}`, `[`, ``} {
		f.Add(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	for _, text := range env.Lacking(f, payment) {
		f.Add(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	f.Add("no base64")
	f.Fuzz(func(t *testing.T, header string) {
		p, refused := parsePayment(header)
		if refused != nil {
			if refused.Kind != Malformed || refused.Message == "" {
				t.Errorf("got %+v, want why it is malformed", refused)
			}
			return
		}
		body, err := p.settlement(Challenge{Accepts: []Requirements{{}}})
		if err != nil || !json.Valid(body) {
			t.Errorf("got %s, %v for an accepted payment, want JSON", body, err)
		}
	})
}
