package publish

import (
	"context"
	"errors"

	"pnyx/cache"
)

// beginFull makes background work wait until end is called. At most one publication runs at a time.
func (p *Publisher) beginFull() (end func()) {
	ended := make(chan struct{})
	p.full.Store(&ended)
	return func() {
		p.full.Store(nil)
		close(ended)
	}
}

// AwaitFullPublication blocks while everything is being published, or until ctx ends.
func (p *Publisher) AwaitFullPublication(ctx context.Context) {
	if ended := p.full.Load(); ended != nil {
		select {
		case <-*ended:
		case <-ctx.Done():
		}
	}
}

// isPublishingEverything reports whether everything is being published, or about to be: Redis is empty.
func (p *Publisher) isPublishingEverything(ctx context.Context) bool {
	if p.full.Load() != nil {
		return true
	}
	_, err := p.Store.PublicationState(ctx)
	return errors.Is(err, cache.ErrMiss)
}
