package webhook

import (
	"context"
	"maps"
	"slices"

	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

const (
	// maxRead bounds the endpoints whose queues are read together.
	maxRead = 100
	// maxBodies bounds the messages whose rows are read together.
	maxBodies = 1000
)

// dueMessage is a message that an endpoint should get now.
type dueMessage struct {
	accounts.Delivery
	// messageBody has no text for what left the feed.
	messageBody
}

// dueRead is an endpoint that waits for what is due.
type dueRead struct {
	endpointID string
	// answer has room for one.
	answer chan<- dueAnswer
}

// dueAnswer is what is due to an endpoint, in order.
type dueAnswer struct {
	messages []dueMessage
	err      error
}

// reader reads queues. Endpoints that ask while a statement runs are read together by the next: planning it costs
// more than its rows, and most messages are for many endpoints.
type reader struct {
	*Deliverer
	queue chan dueRead
}

// read returns the first batchSize messages that an endpoint should get now.
func (r *reader) read(ctx context.Context, endpointID string) ([]dueMessage, error) {
	answer := make(chan dueAnswer, 1)
	select {
	case r.queue <- dueRead{endpointID, answer}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case due := <-answer:
		return due.messages, due.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run answers until ctx ends.
func (r *reader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-r.queue:
			r.answer(ctx, take(r.queue, first, maxRead))
		}
	}
}

func (r *reader) answer(ctx context.Context, reads []dueRead) {
	ids := warehouse.Values(reads, func(read dueRead) string { return read.endpointID })
	due, err := r.due(ctx, ids)
	for _, read := range reads {
		read.answer <- dueAnswer{due[read.endpointID], err}
	}
}

func (r *reader) due(ctx context.Context, endpointIDs []string) (map[string][]dueMessage, error) {
	deliveries, err := accounts.NewAccounts(r.Warehouse).DueDeliveries(ctx, endpointIDs, r.Now(), batchSize)
	if err != nil {
		return nil, err
	}
	ids := warehouse.Values(deliveries, func(d accounts.Delivery) string { return d.MessageID })
	slices.Sort(ids)
	bodies := map[string]messageBody{}
	for some := range slices.Chunk(slices.Compact(ids), maxBodies) {
		found, err := r.bodies(ctx, some)
		if err != nil {
			return nil, err
		}
		maps.Copy(bodies, found)
	}
	due := make(map[string][]dueMessage, len(endpointIDs))
	for _, d := range deliveries {
		due[d.EndpointID] = append(due[d.EndpointID], dueMessage{d, bodies[d.MessageID]})
	}
	return due, nil
}
