package worker_test

import (
	"fmt"
	"testing"
	"time"
)

// TestWhatThePreviousFormatPublishedIsPublishedAgain lets a worker of the previous cache
// format lead meanwhile, as after a rollback. What became due by the clock it noted in the
// warehouse as published, so that only a publication of everything shows it here.
func TestWhatThePreviousFormatPublishedIsPublishedAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	before := h.publishOnce()
	const state = "pnyx:4:{worker}:publication"
	if err := h.redis.Set(t.Context(), state, "\x81\xacserverRunIDs\xa1x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	h.publishedInFull(before, func() error {
		ttl, err := h.redis.TTL(t.Context(), state).Result()
		if err == nil && (ttl <= 0 || ttl > 24*time.Hour) {
			err = fmt.Errorf("got a TTL of format 4 of %s, want a day", ttl)
		}
		return err
	})
}
