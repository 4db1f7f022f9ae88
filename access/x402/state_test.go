package x402

import (
	"errors"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/check"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	expiry := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	during, after := expiry.Add(-time.Minute), expiry.Add(2*time.Minute)
	no := func(reason string) evidence { return evidence{asked: true, reply: verdict{reason: reason}} }
	blind := func(e evidence) evidence { e.blind = true; return e }
	const used = reasonUsed
	for name, c := range map[string]struct {
		unanswered bool
		reason     string
		e          evidence
		now        time.Time
		want       governance.PaymentState
	}{
		"yes":                               {false, "", evidence{asked: true, reply: verdict{yes: true, transaction: "0x1"}}, during, governance.PaymentSettled},
		"no":                                {false, "", no("insufficient_funds"), during, governance.PaymentRefused},
		"no after silence":                  {true, "", no("insufficient_funds"), during, governance.PaymentSettling},
		"silence":                           {false, "", evidence{asked: true, err: errNoAnswer}, during, governance.PaymentSettling},
		"not sent":                          {false, "", evidence{asked: true, err: errNotSent}, during, governance.PaymentRefused},
		"not sent after silence":            {true, "", evidence{asked: true, err: errNotSent}, during, governance.PaymentSettling},
		"not sent after used":               {false, used, evidence{asked: true, err: errNotSent}, during, governance.PaymentSettling},
		"pending":                           {false, "", evidence{asked: true, reply: verdict{reason: "insufficient_funds", submitted: true}}, during, governance.PaymentSettling},
		"used, first attempt":               {false, "", blind(no(used)), during, governance.PaymentSettling},
		"used, again":                       {false, used, blind(no(used)), during, governance.PaymentSettling},
		"used after silence, no chain":      {true, "", blind(no(used)), during, governance.PaymentSettled},
		"used, in the token's words":        {true, "", blind(no("FiatTokenV2: authorization is used or canceled")), during, governance.PaymentSettled},
		"used, by another facilitator":      {true, "", blind(no("invalid_exact_evm_payload_authorization_nonce_used")), during, governance.PaymentSettled},
		"refused is not used":               {true, "", blind(no("authorization refused")), during, governance.PaymentSettling},
		"used after silence, chain is away": {true, "", no(used), during, governance.PaymentSettling},
		"paid in the chain":                 {true, "", evidence{onChain: statusPaid, transaction: "0x1"}, during, governance.PaymentSettled},
		"paid whatever the facilitator":     {false, "", evidence{asked: true, reply: verdict{reason: "x"}, onChain: statusPaid}, during, governance.PaymentSettled},
		"spent in the chain":                {true, "", evidence{onChain: statusSpent}, during, governance.PaymentRefused},
		"unused while valid":                {true, "", evidence{onChain: statusUnused}, during, governance.PaymentSettling},
		"unused after its end":              {true, "", evidence{onChain: statusUnused}, after, governance.PaymentRefused},
		"over without a chain":              {true, "", evidence{blind: true}, after, governance.PaymentUnknown},
		"over, chain is away":               {true, "", evidence{}, after, governance.PaymentSettling},
		"over, chain stays away":            {true, "", evidence{}, after.Add(chainMargin), governance.PaymentUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := governance.Payment{
				State: governance.PaymentSettling, Unanswered: c.unanswered, Reason: c.reason,
				ValidBefore: governance.TimestampOf(expiry), Settlement: []byte("x"), Revision: 7,
			}
			got := decide(p, c.e, c.now)
			if got.State != c.want || got.Revision != 8 {
				t.Errorf("%s: got %s at %d, want %s at 8", name, got.State, got.Revision, c.want)
			}
			check.Want(t, c.want == governance.PaymentSettling, len(got.Settlement) > 0, name, "what can be handed over is kept")
		})
	}
}

// A cancelled nonce stays open only for those who cannot ask; silence of a second attempt counts nothing.
func TestSilenceAfterAUsedNonceDoesNotMakeItOurs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := governance.Payment{State: governance.PaymentSettling, ValidBefore: governance.TimestampOf(now.Add(time.Minute))}
	for _, e := range []evidence{
		{asked: true, reply: verdict{reason: reasonUsed}, blind: true},
		{asked: true, err: errors.Join(errNoAnswer), blind: true},
		{asked: true, reply: verdict{reason: reasonUsed}, blind: true},
	} {
		if p = decide(p, e, now); p.State != governance.PaymentSettling {
			t.Fatalf("got %s, want it to stay open", p.State)
		}
	}
}
