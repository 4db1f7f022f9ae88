package webhook

import (
	"context"
	"maps"
	"slices"

	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

// maxRead and maxBodies bound the endpoints and the messages that are read together.
const (
	maxRead   = 100
	maxBodies = 1000
)

type dueMessage struct {
	accounts.Delivery
	// messageBody has no text for what left the feed.
	messageBody
}

type dueRead struct {
	endpointID string
	// answer has room for one.
	answer chan<- dueAnswer
}

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
