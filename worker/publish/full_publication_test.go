package publish

import (
	"context"
	"testing"

	"pnyx/test/env"
)

// Sorted copies, recounts and the feed come after a publication of everything.
func TestAPublicationOfEverythingComesFirst(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.step()
	p := e.publisher
	if p.isPublishingEverything(t.Context()) {
		t.Error("a publication of everything runs after it has ended")
	}
	p.AwaitFullPublication(t.Context()) // returns at once
	end := p.full.begin()
	if !p.isPublishingEverything(t.Context()) {
		t.Error("sorted copies are built during a publication of everything")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.AwaitFullPublication(ended) // returns at the end of the context
	waited := make(chan struct{})
	go func() {
		p.AwaitFullPublication(t.Context())
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("the feed does not wait for a publication of everything")
	default:
	}
	end()
	<-waited
	if p.isPublishingEverything(t.Context()) {
		t.Error("a publication of everything runs after it has ended")
	}
}

func TestEverythingIsAboutToBePublishedWhileRedisIsEmpty(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	if err := env.RedisClient(t, e.redisURL).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if !e.publisher.isPublishingEverything(t.Context()) {
		t.Error("sorted copies are built before anything is published")
	}
}
