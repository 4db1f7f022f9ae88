package accounts_test

import (
	"time"

	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/test/env"
)

func pendingClaims() []claim {
	return []claim{{"a worker is told what there is to do", pendingSaysWhatThereIsToDo}}
}

func pendingSaysWhatThereIsToDo(t *fixture) {
	now := time.Now()
	want := func(when string, at time.Time, want accounts.Pending) {
		t.Helper()
		env.Want(t, want, env.Must(t.store.Pending(t.Context(), at))(t), when)
	}
	want("on an empty Redis", now, accounts.Pending{TokensMissing: true, Payments: true})
	env.MustDo(t, t.store.RestorePayments(t.Context(), nil))
	want("after payments were restored", now, accounts.Pending{TokensMissing: true})
	env.MustDo(t, t.store.SetTokens(t.Context(), 20, []byte("tokens")))
	env.MustDo(t, t.store.WriteCounters(t.Context(), []accounts.UsageCounter{{Field: "a", Value: "1"}, {Field: "b", Value: "2"}}))
	want("after a node counted", now, accounts.Pending{TokensRevision: 20, UsageCounters: 2})
	p := newPayment("payer")
	p.State = governance.PaymentSettled
	env.MustDo(t, t.store.RestorePayments(t.Context(), []governance.Payment{p}))
	want("while a payment is remembered", now, accounts.Pending{TokensRevision: 20, UsageCounters: 2})
	want("when it is forgotten", now.Add(24*time.Hour), accounts.Pending{TokensRevision: 20, UsageCounters: 2, Payments: true})
}
