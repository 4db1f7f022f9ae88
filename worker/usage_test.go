package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/access"
	"pnyx/cache/accounts"
	"pnyx/test/env"
	stored "pnyx/warehouse/accounts"
)

// Thirty nodes that serve four hundred tokens have 12,000 counters, and each request
// writes its counter again.
func TestAttackMoreCountersThanOneBatchAreAllWritten(t *testing.T) {
	t.Parallel()
	for name, redisURL := range map[string]func(*testing.T) string{
		"embedded Redis": func(t *testing.T) string { t.Helper(); return env.EmbeddedRedis(t) },
		"Redis server":   func(t *testing.T) string { t.Helper(); return env.Redis(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarnessOn(t, redisURL(t))
			h.countersReachTheWarehouse()
		})
	}
}

func (h *harness) countersReachTheWarehouse() {
	h.t.Helper()
	const nodes, tokens = 30, 400
	store := accounts.New(h.store)
	day := time.Now().UTC().Truncate(24 * time.Hour)
	var written uint64
	// write is what the nodes do once a second: every total has grown since.
	write := func() {
		h.t.Helper()
		written++
		for node := range nodes {
			counters := make([]accounts.UsageCounter, tokens)
			for token := range counters {
				usage := access.Usage{
					Session: fmt.Sprintf("node%d", node), TokenID: fmt.Sprintf("token%d", token),
					Day: day.Format(time.DateOnly), Route: fmt.Sprintf("route%d", node),
					Counters: access.Counters{Requests: written, OK: written, Charged: written},
				}
				value, err := msgpack.Marshal(usage)
				if err != nil {
					h.t.Fatal(err)
				}
				counters[token] = accounts.UsageCounter{Field: usage.Session + "|" + usage.TokenID, Value: string(value)}
			}
			if err := store.WriteCounters(h.t.Context(), counters); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	check := func(want func(charged uint64) bool) error {
		usage, err := stored.NewAccounts(h.warehouse).UsageBetween(h.t.Context(), day, day, nil)
		if err != nil {
			return err
		}
		right := 0
		for _, u := range usage {
			if want(u.Charged) {
				right++
			}
		}
		if right != nodes*tokens {
			err = fmt.Errorf("got %d of %d counters written", right, nodes*tokens)
		}
		return err
	}
	stop := h.startAccounts()
	// Every total of every node arrives at some value, although all change all the time.
	env.Until(h.t, func() error {
		write()
		return check(func(charged uint64) bool { return charged > 0 })
	})
	// A worker that dies in between loses nothing: the next one writes the rest.
	stop()
	write()
	h.startAccounts()
	env.Until(h.t, func() error {
		return check(func(charged uint64) bool { return charged == written })
	})
}
