package worker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pnyx/test/env"
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
	stop := h.startLeader(h.metrics)
	env.Until(t, func() error {
		now, err := h.store.PublicationState(t.Context())
		ttl, errTTL := h.redis.TTL(t.Context(), state).Result()
		if err := errors.Join(err, errTTL); err != nil {
			return err
		}
		if now.LastFullRevision <= before.Revision || ttl <= 0 || ttl > 24*time.Hour {
			return fmt.Errorf("got a full publication at %d and a TTL of format 4 of %s, want one after %d, then a day",
				now.LastFullRevision, ttl, before.Revision)
		}
		return nil
	})
	stop()
	full := h.waitForPublication().LastFullRevision
	h.append(vote("a", "0x2", "5"))
	h.startLeader(h.metrics)
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
	if now := h.waitForPublication(); now.LastFullRevision != full {
		t.Errorf("by the next leader: got a full publication at %d, want none after %d", now.LastFullRevision, full)
	}
}
