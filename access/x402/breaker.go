package x402

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// breakerThreshold failures in a row open a breaker for breakerTimeout, after which one call tries again.
	breakerThreshold = 5
	breakerTimeout   = 10 * time.Second
	// breakerPayers is from how many payers the failures must come, unless the facilitator cannot be reached: the
	// payments of one payer may fail for what is in them.
	breakerPayers = 3
	// defaultBusyWait is the wait after a 429 without Retry-After, and maxBusyWait the maximum for one with it.
	defaultBusyWait = time.Second
	maxBusyWait     = 30 * time.Second
)

type busyError struct {
	wait time.Duration
}

// Error states how long no call is made.
func (b *busyError) Error() string { return fmt.Sprintf("it is busy for %s", b.wait) }

type breaker struct {
	now func() time.Time

	mu sync.Mutex
	// failures counts the failures since the last answer, and payers holds up to breakerPayers of those whose
	// payments failed. unreached means that one of the calls did not reach the facilitator.
	failures  int
	payers    map[string]bool
	unreached bool
	// openUntil is when the next call may try; zero while the breaker is closed. trying means that one does.
	openUntil time.Time
	trying    bool
	busyUntil time.Time // before it the facilitator wants no calls
}

func newBreaker(now func() time.Time) *breaker {
	return &breaker{now: now, payers: map[string]bool{}}
}

// call makes a call, unless the breaker is open or the facilitator is busy: the error is errNotSent then. vouched
// means that the payment is known to be signed by its payer.
func (b *breaker) call(payer string, vouched bool, ask func() (verdict, error)) (verdict, error) {
	b.mu.Lock()
	err := b.check()
	b.trying = b.trying || err == nil && !b.openUntil.IsZero()
	b.mu.Unlock()
	if err != nil {
		return verdict{}, err
	}
	reply, err := ask()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record(payer, vouched, err)
	return reply, err
}

// ready returns why no call would be made now; nil if one would.
func (b *breaker) ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.check()
}

func (b *breaker) check() error {
	now := b.now()
	if wait := b.busyUntil.Sub(now); wait > 0 {
		return fmt.Errorf("%w: %w", errNotSent, &busyError{wait})
	}
	if !b.openUntil.IsZero() && (b.trying || now.Before(b.openUntil)) {
		return fmt.Errorf("%w: the circuit breaker is open", errNotSent)
	}
	return nil
}

// record takes the outcome of a call into account. A failure with a payment that only a contract can check says
// nothing about the facilitator, unless the facilitator was not reached.
func (b *breaker) record(payer string, vouched bool, err error) {
	b.trying = false
	busy, isBusy := errors.AsType[*busyError](err)
	unreached := errors.Is(err, errNotSent)
	switch {
	case err == nil:
		b.failures, b.unreached, b.openUntil = 0, false, time.Time{}
		clear(b.payers)
		return
	case isBusy:
		b.busyUntil = b.now().Add(busy.wait)
		return
	case !unreached && !vouched:
		return
	}
	b.failures++
	b.unreached = b.unreached || unreached
	if len(b.payers) < breakerPayers {
		b.payers[payer] = true
	}
	if b.failures >= breakerThreshold && (b.unreached || len(b.payers) >= breakerPayers) {
		b.openUntil = b.now().Add(breakerTimeout)
	}
}
