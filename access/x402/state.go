package x402

import (
	"errors"
	"regexp"
	"time"

	"pnyx/governance"
)

type evidence struct {
	// asked means that the facilitator was called. reply is its verdict, unless err is set.
	asked bool
	reply verdict
	err   error
	// transaction is the transfer on the chain. blind means that no RPC endpoint is configured.
	onChain     chainStatus
	transaction string
	blind       bool
}

const (
	// expiryMargin is how long an authorization may still appear after its expiry, in a block of an earlier time.
	expiryMargin = time.Minute
	// chainMargin is how long after that a chain that does not answer is still queried.
	chainMargin = 8 * time.Minute
	// firstCheck is the time until an unresolved settlement is checked. It grows up to maxCheckInterval.
	firstCheck       = 2 * time.Second
	maxCheckInterval = 30 * time.Second
)

// decide returns the next state of a payment. The chain takes precedence over the facilitator. An unanswered
// attempt leaves the outcome open until the chain, a success or the expiry of the authorization decides it.
func decide(p governance.Payment, e evidence, now time.Time) governance.Payment {
	p.Revision++
	p.ChangedAt = governance.TimestampOf(now)
	if e.reply.submitted {
		p.Unanswered, p.Transaction = true, e.reply.transaction
	}
	switch {
	case e.onChain == statusPaid:
		return settled(p, e.transaction, now)
	case e.onChain == statusSpent:
		return refused(p, reasonUsed)
	case !e.asked:
		return decideExpiry(p, e, now)
	case e.err != nil:
		return decideUnanswered(p, e, now)
	case e.reply.yes:
		return settled(p, e.reply.transaction, now)
	case isUsed(e.reply.reason):
		return decideUsed(p, e, now)
	case !isOpen(p):
		return refused(p, e.reply.reason)
	}
	return decideExpiry(p, e, now)
}

// decideUnanswered decides an attempt without a verdict; one that was not sent changed nothing.
func decideUnanswered(p governance.Payment, e evidence, now time.Time) governance.Payment {
	if !errors.Is(e.err, errNotSent) && p.Reason != reasonUsed {
		p.Unanswered = true
	}
	if !isOpen(p) {
		return refused(p, reasonUnreachable)
	}
	return decideExpiry(p, e, now)
}

// decideUsed decides an authorization that the facilitator reports as used. Where no chain is configured, an
// earlier unanswered attempt is taken to have used it: the payer cannot cause a missing answer, and cancelling
// costs more than a response. Otherwise only the chain can tell: another party may have submitted it, or the payer
// cancelled it.
func decideUsed(p governance.Payment, e evidence, now time.Time) governance.Payment {
	if p.Unanswered && e.blind {
		return settled(p, p.Transaction, now)
	}
	p.Reason = reasonUsed
	return decideExpiry(p, e, now)
}

// decideExpiry ends a payment whose authorization has expired.
func decideExpiry(p governance.Payment, e evidence, now time.Time) governance.Payment {
	over := p.ValidBefore.Time().Add(expiryMargin)
	if now.Before(over) {
		return p
	}
	if e.onChain == statusUnused {
		return refused(p, reasonValidBefore)
	}
	if e.blind || !now.Before(over.Add(chainMargin)) {
		p.State, p.Settlement = governance.PaymentUnknown, nil
	}
	return p
}

// isOpen reports whether an earlier attempt, or another party, may have charged a payment.
func isOpen(p governance.Payment) bool { return p.Unanswered || p.Reason == reasonUsed }

func settled(p governance.Payment, transaction string, now time.Time) governance.Payment {
	p.State, p.SettledAt, p.Transaction = governance.PaymentSettled, new(governance.TimestampOf(now)), transaction
	p.Reason, p.Settlement = "", nil
	return p
}

func refused(p governance.Payment, reason string) governance.Payment {
	p.State, p.Reason, p.Settlement = governance.PaymentRefused, reason, nil
	return p
}

// usedForm matches reasons for a used nonce, and the contract's "authorization is used or canceled".
var usedForm = regexp.MustCompile(`(?i)(nonce|authorization).*[^a-z]used|^duplicate_settlement$`)

func isUsed(reason string) bool { return usedForm.MatchString(reason) }

// nextCheck returns when an unresolved settlement is checked next; the interval doubles.
func nextCheck(p governance.Payment, now time.Time) time.Time {
	return now.Add(min(firstCheck<<min(p.Attempts, 8), maxCheckInterval))
}
