package publish

import (
	"context"
	"errors"
	"sync/atomic"

	"pnyx/cache"
)

// fullPublication defers background work until a publication of everything has ended. The channel is
// closed at the end of the one that runs.
type fullPublication struct{ ended atomic.Pointer[chan struct{}] }

// begin makes others wait until end is called. At most one publication runs at a time.
func (p *fullPublication) begin() (end func()) {
	ended := make(chan struct{})
	p.ended.Store(&ended)
	return func() {
		p.ended.Store(nil)
		close(ended)
	}
}

// running returns a channel that is closed at the end of the publication, nil while none runs.
func (p *fullPublication) running() <-chan struct{} {
	if ended := p.ended.Load(); ended != nil {
		return *ended
	}
	return nil
}

// AwaitFullPublication blocks while everything is being published, or until ctx ends.
func (p *Publisher) AwaitFullPublication(ctx context.Context) {
	ended := p.full.running()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// isPublishingEverything reports whether everything is being published, or is about to be: Redis
// is empty.
func (p *Publisher) isPublishingEverything(ctx context.Context) bool {
	if p.full.running() != nil {
		return true
	}
	_, err := p.Store.PublicationState(ctx)
	return errors.Is(err, cache.ErrMiss)
}
