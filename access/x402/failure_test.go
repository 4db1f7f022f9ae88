package x402_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/access/x402"
	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// briefly is a deadline that tests run into where nobody answers.
const briefly = 3 * time.Second

// Ways of a facilitator to fail.

func fails(w http.ResponseWriter, _ *http.Request, _ func() any) {
	http.Error(w, `{"error":"internal"}`, http.StatusInternalServerError)
}

func babbles(w http.ResponseWriter, _ *http.Request, _ func() any) {
	fmt.Fprint(w, "<html>welcome</html>")
}

func hangs(_ http.ResponseWriter, r *http.Request, _ func() any) {
	<-r.Context().Done()
}

func hangsUp(http.ResponseWriter, *http.Request, func() any) {
	panic(http.ErrAbortHandler)
}

func isBusy(w http.ResponseWriter, _ *http.Request, _ func() any) {
	http.Error(w, "slow down", http.StatusTooManyRequests)
}

func refusesToSettle(w http.ResponseWriter, _ *http.Request, _ func() any) {
	fmt.Fprint(w, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:84532"}`)
}

// settlesAnd does what it is asked, and then something else than say so.
func settlesAnd(then facilitator.Behaviour) facilitator.Behaviour {
	return func(w http.ResponseWriter, r *http.Request, honest func() any) {
		honest()
		then(w, r, honest)
	}
}

func TestNothingIsChargedWhenTheFacilitatorCannotVerify(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]facilitator.Behaviour{
		"500": fails, "garbage": babbles, "slow": hangs, "reset": hangsUp, "busy": isBusy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, withVerifyTimeout(briefly))
			f.ledger.Behave("verify", how)
			header := f.pay().Header()
			_, err := f.buy(header, request(), "answer")
			if refusal := f.wantRefused(err, x402.Unavailable, ""); refusal.RetryAfter == 0 {
				t.Error("no Retry-After")
			}
			if f.ledger.Calls("settle") > 0 || len(f.ledgerStates()) > 0 {
				t.Error("something was settled")
			}
			f.ledger.Behave("verify", nil)
			f.SetClock(func() time.Time { return time.Now().Add(2 * time.Second) }) // it was busy
			f.wantBought(header, "answer", "answer")
		})
	}
}

func TestABrokenConnectionIsTriedAgainForVerifyAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("verify", hangsUp)
	f.ledger.Behave("settle", hangsUp)
	f.wantUnsold(f.pay().Header(), request(), "answer", x402.Unavailable, "")
	env.Want(t, 2, f.ledger.Calls("verify"), "verify", "calls")
	f.ledger.Behave("verify", nil)
	f.wantUnsold(f.pay().Header(), request(), "answer", x402.Pending, "settlement_pending")
	env.Want(t, 1, f.ledger.Calls("settle"), "settle", "calls")
}

func TestAFacilitatorThatStaysSilentIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	began := time.Now()
	stopped := func() time.Time { return began }
	f.ledger.Behave("verify", fails)
	f.SetClock(stopped)
	for range 8 {
		f.wantUnsold(f.payAs(facilitator.NewPayer(t)).Header(), request(), "answer", x402.Unavailable, "")
	}
	env.Want(t, 5, f.ledger.Calls("verify"), "calls", "and then none")
	// One call tries again after a while.
	f.SetClock(func() time.Time { return stopped().Add(11 * time.Second) })
	for range 3 {
		f.wantUnsold(f.payAs(facilitator.NewPayer(t)).Header(), request(), "answer", x402.Unavailable, "")
	}
	env.Want(t, 6, f.ledger.Calls("verify"), "calls")
	f.ledger.Behave("verify", nil)
	f.SetClock(func() time.Time { return stopped().Add(22 * time.Second) })
	f.wantBought(f.pay().Header(), "answer", "answer")
}

func TestAFacilitatorThatLiesAboutAPaymentGetsNoAnswerOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("settle", refusesToSettle)
	header := f.pay().Header()
	_, err := f.buy(header, request(), "answer")
	refusal := f.wantRefused(err, x402.Required, "insufficient_funds")
	if refusal.Receipt == "" {
		t.Error("no receipt says that the settlement was refused")
	}
	env.WantSame(t, "ledger", []governance.PaymentState{governance.PaymentSettling, governance.PaymentRefused}, f.ledgerStates())
	// Once there are funds the same authorization will do.
	f.ledger.Behave("settle", nil)
	f.wantBought(header, "answer", "answer")
	f.wantCharged(1)
}

func TestAKeyInTheQueryOfTheFacilitatorsAddressStaysThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *x402.Options) { o.FacilitatorURL += "/?key=hunter2" })
	f.ledger.Behave("settle", func(w http.ResponseWriter, r *http.Request, honest func() any) {
		check.Want(t, "/settle?key=hunter2", r.RequestURI, "address")
		_ = json.NewEncoder(w).Encode(honest())
	})
	f.wantBought(f.pay().Header(), "answer", "answer")
}

func TestAReasonOfTheFacilitatorIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for reason, want := range map[string]string{"": "unexpected_verify_error", strings.Repeat("x", 1<<16): strings.Repeat("x", 200) + "…"} {
		f.ledger.Behave("verify", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
			fmt.Fprintf(w, `{"isValid":false,"invalidReason":%q}`, reason)
		})
		_, err := f.buy(f.pay().Header(), request(), "answer")
		if refusal := f.wantRefused(err, x402.Required, want); len(refusal.Challenge.Header()) > 4<<10 {
			t.Errorf("the terms take %d bytes of a header", len(refusal.Challenge.Header()))
		}
	}
}

func TestASuccessWithoutATransactionIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		fmt.Fprint(w, `{"success":true,"transaction":"","network":"eip155:84532"}`)
	})
	f.wantUnsold(f.pay().Header(), request(), "answer", x402.Pending, "settlement_pending")
}

// A settlement that went through without a word is found in the chain at once.
func TestASettlementWithoutAnAnswerIsLookedUpInTheChain(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]facilitator.Behaviour{
		"500": fails, "garbage": babbles, "slow": hangs, "reset": hangsUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, withChain, withSettleTimeout(briefly))
			f.ledger.Behave("settle", settlesAnd(how))
			header := f.pay().Header()
			f.wantBought(header, "answer", "answer")
			f.wantBought(header, "other", "answer")
			f.wantCharged(1)
		})
	}
}

func TestWithoutAChainTheRetryOfAnUnansweredSettlementGetsTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withSettleTimeout(briefly))
	f.ledger.Behave("settle", settlesAnd(hangs))
	header := f.pay().Header()
	f.wantUnsold(header, request(), "first", x402.Pending, "settlement_pending")
	f.wantCharged(1)
	f.wantUnsold(header, anotherRequest(), "free", x402.Required, "invalid_exact_evm_nonce_already_used")
	f.ledger.Behave("settle", nil)
	f.wantBought(header, "second", "first")
	f.wantCharged(1)
}

func TestASettlementThatDidNotHappenIsDoneByTheRetry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withChain)
	f.ledger.Behave("settle", fails)
	header := f.pay().Header()
	for range 2 {
		f.wantUnsold(header, request(), "first", x402.Pending, "settlement_pending")
	}
	f.wantCharged(0)
	f.ledger.Behave("settle", nil)
	f.wantBought(header, "second", "first")
	f.wantCharged(1)
}

func TestAPaymentThatSomebodyElseSubmittedBuysTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withChain)
	payment := f.pay()
	charge := f.mustBegin(payment.Header())
	hash := f.ledger.Submit(payment.Payload.Authorization)
	env.MustDo(t, charge.Settle(t.Context(), body("answer")))
	env.WantPart(t, hash, decoded(t, charge.Receipt()), "receipt", "does not name")
	f.wantCharged(1)
}

func TestAnAuthorizationCancelledAfterItWasVerifiedBuysNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []setting
		kind     x402.Kind
		reason   string
	}{
		"with a chain":    {[]setting{withChain}, x402.Required, "invalid_exact_evm_nonce_already_used"},
		"without a chain": {nil, x402.Pending, "settlement_pending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.settings...)
			payment := f.pay()
			charge := f.mustBegin(payment.Header())
			f.ledger.Cancel(payment.Payload.Authorization)
			f.wantRefused(charge.Settle(t.Context(), body("answer")), c.kind, c.reason)
			f.wantUnsold(payment.Header(), request(), "answer", c.kind, c.reason)
			f.wantCharged(0)
		})
	}
}

func TestASettlementUnderWayIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
		f.ledger.Behave("settle", nil)
		fmt.Fprintf(w, `{"success":false,"errorReason":"settlement_pending","transaction":"0x%064d","network":"eip155:84532"}`, 1)
	})
	f.wantBought(f.pay().Header(), "answer", "answer")
	f.wantCharged(1)
}

// What a facilitator says of a second submission, while the first one is under way, says nothing of the first.
func TestASettlementUnderWayIsNeverAskedToBePaidAgain(t *testing.T) {
	t.Parallel()
	for second, how := range map[string]facilitator.Behaviour{"used": nil, "funds are gone": refusesToSettle} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, honest func() any) {
				honest()
				f.ledger.Behave("settle", how)
				fmt.Fprintf(w, `{"success":false,"errorReason":"settlement_pending","transaction":%q,"network":"eip155:84532"}`, f.ledger.Transfers()[0].Hash)
			})
			header := f.pay().Header()
			if how != nil {
				f.wantUnsold(header, request(), "answer", x402.Pending, "settlement_pending")
				f.ledger.Behave("settle", nil)
			}
			f.wantBought(header, "answer", "answer")
			f.wantCharged(1)
		})
	}
}

// A facilitator that gave up waiting for the transfer which it has submitted refuses it by other names, too.
func TestARefusalThatNamesATransactionIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"settle_exact_evm_transaction_confirmation_timed_out", "invalid_exact_evm_transaction_failed", ""} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.ledger.Behave("settle", func(w http.ResponseWriter, _ *http.Request, _ func() any) {
				fmt.Fprintf(w, `{"success":false,"errorReason":%q,"transaction":"0x%064d","network":"eip155:84532"}`, reason, 1)
			})
			payment := f.pay()
			f.wantUnsold(payment.Header(), request(), "answer", x402.Pending, "settlement_pending")
			f.ledger.Submit(payment.Payload.Authorization) // it is mined after all
			f.ledger.Behave("settle", nil)
			f.wantBought(payment.Header(), "answer", "answer")
			f.wantCharged(1)
		})
	}
}

// However a payment is spelled, nobody is asked for another one while its outcome is not known.
func TestAnotherSpellingOfAnUnansweredPaymentIsNotAskedToBePaidAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ledger.Behave("settle", settlesAnd(fails))
	payment := f.pay()
	header := payment.Header()
	f.wantUnsold(header, request(), "answer", x402.Pending, "settlement_pending")
	payment.Payload.Signature = "0x" + strings.ToUpper(payment.Payload.Signature[2:])
	f.wantUnsold(payment.Header(), request(), "answer", x402.Pending, "settlement_pending")
	f.SetClock(func() time.Time { return time.Now().Add(2 * time.Minute) }) // too late for a new one
	f.wantUnsold(payment.Header(), request(), "answer", x402.Pending, "settlement_pending")
	f.SetClock(time.Now)
	f.wantUnsold(header, anotherRequest(), "answer", x402.Required, "invalid_exact_evm_nonce_already_used")
	f.ledger.Behave("settle", nil)
	f.wantBought(header, "answer", "answer")
	f.wantCharged(1)
}

// The node dies once the payment is verified: nothing was charged, and the retry starts again.
func TestADeathBeforeTheSettlementChargesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	header := f.pay().Header()
	env.Must(f.Begin(t.Context(), request(), header))(t)
	f.wantUnsold(header, request(), "second", x402.InProgress, "")
	f.endLeases()
	f.wantBought(header, "second", "second")
	f.wantCharged(1)
}

// The node dies while the payment is charged: the retry, on another node, gets the prepared answer.
func TestADeathAfterTheSettlementLosesNoAnswer(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]setting{"with a chain": {withChain}, "without a chain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
			dying, other := newFixtureAt(t, redis, ledger, settings...), newFixtureAt(t, redis, ledger, settings...)
			header := dying.pay().Header()
			charge := dying.mustBegin(header)
			reached, over := make(chan struct{}), make(chan struct{})
			ledger.Behave("settle", func(_ http.ResponseWriter, r *http.Request, honest func() any) {
				honest()
				close(reached)
				<-r.Context().Done()
			})
			go func() {
				defer close(over)
				_ = charge.Settle(t.Context(), body("first")) // nobody is there to send it
			}()
			<-reached
			ledger.Behave("settle", nil)
			other.wantUnsold(header, request(), "second", x402.InProgress, "")
			other.endLeases()
			other.wantBought(header, "second", "first")
			other.wantCharged(1)
			dying.Close()
			ledger.HangUp()
			<-over
			other.wantBought(header, "third", "first")
		})
	}
}

// A node that is dead for its caller, and for whose payment nobody comes again.
func TestAnOpenPaymentIsLookedIntoWithoutBeingCharged(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]setting{"with a chain": {withChain}, "without a chain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, settings...)
			f.ledger.Behave("settle", fails)
			unsettled, paid := f.pay(), f.pay()
			for _, payment := range []facilitator.Payment{unsettled, paid} {
				f.wantUnsold(payment.Header(), request(), "first", x402.Pending, "settlement_pending")
			}
			f.ledger.Submit(paid.Payload.Authorization)
			asked := f.ledger.Calls("settle")
			f.SetClock(func() time.Time { return time.Now().Add(10 * time.Second) })
			f.Reconcile(t.Context())
			if got := f.ledger.Calls("settle"); got != asked {
				t.Errorf("settle was asked for %d times in the background", got-asked)
			}
			f.wantCharged(1)
			states := f.ledgerStates()
			last := states[len(states)-2:]
			slices.Sort(last)
			env.WantSame(t, "ledger", []governance.PaymentState{governance.PaymentSettled, governance.PaymentSettling}, last)
			f.SetClock(time.Now)
			f.ledger.Behave("settle", nil)
			f.wantBought(paid.Header(), "second", "first")
		})
	}
}

func TestAPaymentThatWasNeverChargedEndsWithItsValidity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []setting
		want     governance.PaymentState
	}{
		"with a chain":    {[]setting{withChain}, governance.PaymentRefused},
		"without a chain": {nil, governance.PaymentUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.settings...)
			f.ledger.Behave("settle", fails)
			header := f.pay().Header()
			f.wantUnsold(header, request(), "first", x402.Pending, "settlement_pending")
			f.SetClock(func() time.Time { return time.Now().Add(4 * time.Minute) })
			f.Reconcile(t.Context())
			states := f.ledgerStates()
			env.Want(t, c.want, states[len(states)-1])
		})
	}
}

func TestARetryAfterTheValidityStillGetsWhatWasPaidFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	header := f.pay().Header()
	f.wantBought(header, "first", "first")
	f.SetClock(func() time.Time { return time.Now().Add(3 * time.Minute) })
	f.wantBought(header, "second", "first")
	f.wantUnsold(f.pay().Header(), request(), "new", x402.Required, "invalid_exact_evm_payload_authorization_valid_before")
}
