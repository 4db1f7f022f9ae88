package webhook

import (
	"context"
	"time"

	"pnyx/backoff"
	"pnyx/warehouse/accounts"
)

const (
	// recordInterval is how long outcomes wait for others, to be written together.
	recordInterval = 100 * time.Millisecond
	// maxRecorded bounds the outcomes that are written together.
	maxRecorded       = 5000
	lastRecordTimeout = 2 * time.Second
)

type outcome struct {
	delivery accounts.Delivery
	// attempt is nil where nothing was sent.
	attempt *accounts.WebhookAttempt
}

type queuedOutcome struct {
	outcome
	done chan struct{}
}

// recorder writes outcomes of all endpoints: a warehouse takes few large inserts better than many small ones.
type recorder struct {
	*Deliverer
	queue chan queuedOutcome
}

// record queues an outcome unless ctx ends, and returns a channel that is closed once it is written.
func (r *recorder) record(ctx context.Context, o outcome) <-chan struct{} {
	queued := queuedOutcome{o, make(chan struct{})}
	select {
	case r.queue <- queued:
	case <-ctx.Done():
	}
	return queued.done
}

// run writes until ctx ends, which must be after the last call of record, and then what is queued.
func (r *recorder) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-r.queue:
			backoff.Wait(ctx, recordInterval)
			r.write(ctx, take(r.queue, first, maxRecorded))
		}
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastRecordTimeout)
	defer stop()
	for {
		select {
		case first := <-r.queue:
			r.write(ctx, take(r.queue, first, maxRecorded))
		default:
			return
		}
	}
}

// take returns first and what else is queued, at most so many.
func take[T any](queue <-chan T, first T, most int) []T {
	taken := []T{first}
	for len(taken) < most {
		select {
		case next := <-queue:
			taken = append(taken, next)
		default:
			return taken
		}
	}
	return taken
}

// write writes outcomes, and repeats it until that succeeds or ctx ends.
func (r *recorder) write(ctx context.Context, outcomes []queuedOutcome) {
	deliveries := make([]accounts.Delivery, len(outcomes))
	var attempts []accounts.WebhookAttempt
	for i, o := range outcomes {
		deliveries[i] = o.delivery
		if o.attempt != nil {
			attempts = append(attempts, *o.attempt)
		}
	}
	for {
		err := accounts.NewAccounts(r.Warehouse).WriteDeliveries(ctx, deliveries)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		r.failed(ctx, "outcomes of webhooks not written, retrying", err)
		backoff.Wait(ctx, backoff.Jitter(backoff.Max))
	}
	// The log may lack what failed here: the queue does not go by it.
	if err := accounts.NewAccounts(r.Warehouse).WriteWebhookAttempts(ctx, attempts); err != nil && ctx.Err() == nil {
		r.failed(ctx, "attempts of webhooks not logged", err)
	}
	for _, o := range outcomes {
		name := string(o.delivery.State)
		if o.delivery.State == accounts.MessageWaiting {
			name = "failed"
		}
		r.deliveries.WithLabelValues(name).Inc()
		close(o.done)
	}
}
