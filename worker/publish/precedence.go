package publish

import (
	"context"
	"errors"
	"sync"

	"pnyx/cache"
)

// precedence makes work that no result waits for wait for a publication of everything.
type precedence struct {
	mu sync.Mutex
	// ended is closed at the end of the publication; nil while none runs.
	ended chan struct{}
}

// take makes others wait until release is called. At most one publication runs at a time.
func (p *precedence) take() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := make(chan struct{})
	p.ended = ended
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = nil
		close(ended)
	}
}

// taken returns a channel that is closed at the end of the publication, nil while none runs.
func (p *precedence) taken() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// AwaitEverything blocks while everything is being published, or until ctx ends.
func (p *Publisher) AwaitEverything(ctx context.Context) {
	ended := p.precedence.taken()
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
	if p.precedence.taken() != nil {
		return true
	}
	_, err := p.Store.PublicationState(ctx)
	return errors.Is(err, cache.ErrMiss)
}
