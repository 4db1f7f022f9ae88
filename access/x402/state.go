package x402

import (
	"errors"
	"strings"
	"time"

	"pnyx/governance"
)

// evidence is what was learned about a payment that was handed over.
type evidence struct {
	// asked says that the facilitator was; said is its verdict, unless err says that
	// there is none.
	asked bool
	said  verdict
	err   error
	// seen is what the chain shows, and transaction the transfer. Blind says that
	// there is no chain to ask.
	seen        sighting
	transaction string
	blind       bool
}

const (
	// expiryMargin is how long after its end an authorization might still show up
	// in the chain, in a block that was stamped before.
	expiryMargin = time.Minute
	// chainMargin is how long after that a chain that does not answer is asked.
	chainMargin = 8 * time.Minute
	// firstLook is the pause before an open outcome is looked into, and longestLook
	// what it grows to.
	firstLook   = 2 * time.Second
	longestLook = 30 * time.Second
)

// judge moves a payment on by what was learned. The chain is believed before the
// facilitator, and an attempt without an answer leaves the outcome open until the
// chain, a success or the end of its validity decides it.
func judge(p governance.Payment, e evidence, now time.Time) governance.Payment {
	p.Revision++
	p.ChangedAt = governance.TimestampOf(now)
	switch {
	case e.seen == paid:
		return settled(p, e.transaction, now)
	case e.seen == spent:
		return refused(p, reasonUsed)
	case !e.asked:
		return judgeExpiry(p, e, now)
	case e.err != nil:
		return judgeSilence(p, e, now)
	case e.said.yes:
		return settled(p, e.said.transaction, now)
	case isUsed(e.said.reason):
		return judgeUsed(p, e, now)
	case e.said.reason == reasonPending:
		p.Unanswered, p.Transaction = true, e.said.transaction
	case !isOpen(p):
		return refused(p, e.said.reason)
	}
	return judgeExpiry(p, e, now)
}

// judgeSilence judges an attempt without a verdict. One that never reached the
// facilitator changed nothing.
func judgeSilence(p governance.Payment, e evidence, now time.Time) governance.Payment {
	if !errors.Is(e.err, errNotSent) && p.Reason != reasonUsed {
		p.Unanswered = true
	}
	if !isOpen(p) {
		return refused(p, reasonUnreachable)
	}
	return judgeExpiry(p, e, now)
}

// judgeUsed judges an authorization that the facilitator finds used up. Where our
// own attempt went unanswered and there is no chain to ask, that attempt is what
// used it: the payer cannot bring the missing answer about, and cancelling costs
// more than an answer does. Otherwise somebody else may have submitted it, or the
// payer cancelled it: only the chain can tell.
func judgeUsed(p governance.Payment, e evidence, now time.Time) governance.Payment {
	if p.Unanswered && e.blind {
		return settled(p, p.Transaction, now)
	}
	p.Reason = reasonUsed
	return judgeExpiry(p, e, now)
}

// judgeExpiry ends a payment that can no longer be charged.
func judgeExpiry(p governance.Payment, e evidence, now time.Time) governance.Payment {
	over := p.ValidBefore.Time().Add(expiryMargin)
	if now.Before(over) {
		return p
	}
	if e.seen == unused {
		return refused(p, reasonValidBefore)
	}
	if e.blind || !now.Before(over.Add(chainMargin)) {
		p.State, p.Settlement = governance.PaymentUnknown, nil
	}
	return p
}

// isOpen says whether a payment may have been charged by an earlier attempt, or by
// somebody else.
func isOpen(p governance.Payment) bool {
	return p.Unanswered || p.Reason == reasonUsed
}

func settled(p governance.Payment, transaction string, now time.Time) governance.Payment {
	at := governance.TimestampOf(now)
	p.State, p.SettledAt, p.Transaction = governance.PaymentSettled, &at, transaction
	p.Reason, p.Settlement = "", nil
	return p
}

func refused(p governance.Payment, reason string) governance.Payment {
	p.State, p.Reason, p.Settlement = governance.PaymentRefused, reason, nil
	return p
}

// isUsed says whether a reason means that the nonce was used up.
func isUsed(reason string) bool {
	return strings.Contains(reason, "nonce_already_used") || reason == "duplicate_settlement"
}

// nextLook is when an open outcome is looked into again: soon at first, then ever
// more rarely.
func nextLook(p governance.Payment, now time.Time) time.Time {
	return now.Add(min(firstLook<<min(p.Attempts, 8), longestLook))
}
