package webhook

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"pnyx/backoff"
	"pnyx/fetch"
	"pnyx/warehouse/accounts"
)

type receiver struct {
	term     *term
	endpoint atomic.Pointer[accounts.Webhook]
	// failingSince is the first failure since the last success; zero for none.
	failingSince time.Time
	swept        time.Time
	woken        chan struct{}
	// next is the earliest attempt that failed messages wait for; zero for none.
	next time.Time
	// resumeAt is until when the receiver asks to be left alone; zero for not.
	resumeAt time.Time
	stop     context.CancelFunc
	ended    atomic.Bool
}

func (t *term) newReceiver(e accounts.Webhook) *receiver {
	r := &receiver{term: t, swept: time.Now(), woken: make(chan struct{}, 1)}
	r.endpoint.Store(&e)
	if e.Failing() {
		r.failingSince = e.FailingSince
	}
	return r
}

func (r *receiver) wake() { backoff.Wake(r.woken) }

func (r *receiver) run(ctx context.Context) {
	defer r.ended.Store(true)
	for on := true; on && ctx.Err() == nil; {
		sent, err := r.deliver(ctx)
		on = !errors.Is(err, errTurnedOff)
		switch {
		case !on || ctx.Err() != nil || err == nil && sent == batchSize: // there may be more
			continue
		case err != nil:
			r.term.failed(ctx, "queue of a webhook not read or written, retrying", err)
			backoff.Wait(ctx, backoff.Jitter(backoff.Max))
			continue
		}
		r.wait(ctx)
	}
}

func (r *receiver) wait(ctx context.Context) {
	pause := maxAge // whatever becomes due wakes it
	if !r.next.IsZero() {
		pause = r.next.Sub(r.term.Now())
	}
	if told := backoff.Await(ctx, pause, r.woken); !told {
		r.next = time.Time{}
	}
}

var errTurnedOff = errors.New("the endpoint is turned off")

// deliver sends what is due, at most batchSize messages, and records what became of each. It returns how many there
// were, and errTurnedOff if that turned the endpoint off.
func (r *receiver) deliver(ctx context.Context) (int, error) {
	if r.term.Now().Before(r.resumeAt) {
		r.next = r.resumeAt
		return 0, nil
	}
	due, err := r.term.read(ctx, r.endpoint.Load().ID)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	var recorded []<-chan struct{}
	failed := map[string]bool{}
	var ended error
	for _, delivery := range due {
		if failed[delivery.Subject] {
			continue
		}
		if leads := r.term.Leads; leads != nil && !leads() { // the process was paused: another leader sends the rest
			break
		}
		outcome := r.attempt(ctx, delivery)
		if ctx.Err() != nil {
			return len(due), context.Cause(ctx) // what was cut off is sent again
		}
		recorded = append(recorded, r.term.record(ctx, outcome))
		if outcome.delivery.State == accounts.MessageWaiting {
			failed[delivery.Subject] = true
			if at := outcome.delivery.DueAt; r.next.IsZero() || at.Before(r.next) {
				r.next = at
			}
		}
		if ended = r.judge(ctx, outcome); ended != nil || r.term.Now().Before(r.resumeAt) {
			break
		}
	}
	for _, done := range recorded {
		select {
		case <-done:
		case <-ctx.Done():
			return len(due), context.Cause(ctx)
		}
	}
	return len(due), ended
}

// attempt sends a message, unless it is too old or large, its deadline has passed or it has left the feed.
func (r *receiver) attempt(ctx context.Context, due dueMessage) outcome {
	now, d := r.term.Now(), due.Delivery
	d.Version++
	switch {
	case now.Sub(d.QueuedAt) >= maxAge, due.deadline != nil && !due.deadline.Time().After(now):
		d.State = accounts.MessageExpired
		return outcome{delivery: d}
	case due.text == nil:
		d.State = accounts.MessageWithdrawn
		return outcome{delivery: d}
	}
	sent := r.term.Sender.send(ctx, *r.endpoint.Load(), message{d.MessageID, d.MessageType, due.text}, now)
	attempt := sent.WebhookAttempt
	d.Attempts++
	attempt.Attempt = d.Attempts
	if d.State = accounts.MessageDelivered; len(due.text) > maxBody {
		d.State = accounts.MessageExpired // no attempt will do better, and those after it would wait
	} else if attempt.Error != "" {
		d.State = accounts.MessageWaiting
		pause := pauseAfter(d.Attempts)
		if sent.pause > 0 {
			pause, r.resumeAt = sent.pause, r.term.Now().Add(sent.pause)
		}
		d.DueAt = r.term.Now().Add(pause)
		// One more attempt is not before the message is too old: then it expires.
		if last := d.QueuedAt.Add(maxAge); d.DueAt.After(last) {
			d.DueAt = last
		}
	}
	return outcome{delivery: d, attempt: &attempt}
}

// judge turns a failing endpoint off, and returns errTurnedOff, after a 410 or maxFailing of failures.
func (r *receiver) judge(ctx context.Context, o outcome) error {
	now, failing := r.term.Now(), !r.failingSince.IsZero()
	failed := o.delivery.State == accounts.MessageWaiting
	switch {
	case o.delivery.State == accounts.MessageDelivered && failing:
		return r.setFailing(ctx, time.Time{})
	case failed && o.attempt.Status == http.StatusGone:
		return r.turnOff(ctx, "it answered 410 Gone")
	case failing && now.Sub(r.failingSince) >= maxFailing:
		return r.turnOff(ctx, "it failed for five days")
	case failed && !failing:
		return r.setFailing(ctx, now)
	}
	return nil
}

func (r *receiver) setFailing(ctx context.Context, since time.Time) error {
	e := *r.endpoint.Load()
	e.FailingSince = since
	err := accounts.NewAccounts(r.term.Warehouse).PutWebhookState(ctx, e)
	if err == nil {
		r.failingSince = since
	}
	return err
}

func (r *receiver) turnOff(ctx context.Context, reason string) error {
	if err := r.term.disable(ctx, *r.endpoint.Load(), reason); err != nil {
		return err
	}
	return errTurnedOff
}

const (
	// maxAge is how long a message stays in the queue.
	maxAge = 5 * 24 * time.Hour
	// maxFailing is how long an endpoint may fail before it is turned off: less than maxAge, so that the message
	// with which the failures began is not dropped before.
	maxFailing = maxAge - time.Hour
	jitter     = 0.1 // the part of a pause that is added at random, at most
	// minAsked and maxAsked bound the pause that a receiver asks for: that after the first failure, and one day.
	minAsked = 5 * time.Second
	maxAsked = 24 * time.Hour
)

// pauseAfter returns the pause after failed attempts. The last one repeats until the message is too old.
func pauseAfter(failures uint32) time.Duration {
	pauses := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	}
	pause := pauses[min(max(int(failures), 1), len(pauses))-1]
	return pause + rand.N(time.Duration(jitter*float64(pause))) //nolint:gosec // no secret
}

func askedPause(header http.Header, now time.Time) time.Duration {
	pause, stated := fetch.RetryAfter(header, now, maxAsked)
	if !stated {
		return 0
	}
	return max(pause, minAsked)
}
