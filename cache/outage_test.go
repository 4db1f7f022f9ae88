package cache_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func outageClaims() []claim {
	return []claim{{"a Redis that is gone is unavailable", goneIsUnavailable}}
}

func goneIsUnavailable(t *bench) {
	const timeout = 100 * time.Millisecond
	store := t.open(timeout)
	env.Until(t.T, func() error { return store.Ping(t.Context()) })
	t.kill()
	env.Until(t.T, func() error {
		if err := store.Ping(t.Context()); err == nil {
			return errors.New("a Redis that was killed answers")
		}
		return nil
	})
	wantUnavailable(t.T, store, timeout)
}

// wantUnavailable checks that a store says that Redis is unavailable, instead of waiting for it.
func wantUnavailable(t *testing.T, store *cache.Store, timeout time.Duration) {
	t.Helper()
	// Writers and leases have no deadline of their own, but keep their caller's.
	bounded := func(work func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		return work(ctx)
	}
	for name, ask := range map[string]func() error{
		"ping": func() error { return store.Ping(t.Context()) },
		"view": func() error { _, err := store.View(t.Context(), cache.DAODetailKey("a")); return err },
		"page": func() error {
			_, err := store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 1}})
			return err
		},
		"published": func() error { _, err := store.PublicationState(t.Context()); return err },
		"acquire":   func() error { return bounded(store.NewLease(time.Second).Acquire) },
		"release":   func() error { return bounded(store.NewLease(time.Second).Release) },
		"write": func() error {
			writer := store.NewWriter(1)
			writer.SetView(t.Context(), cache.DAODetailKey("a"), cache.View{})
			return bounded(writer.Flush)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := ask(); !errors.Is(err, cache.ErrUnavailable) || errors.Is(err, cache.ErrMiss) {
				t.Errorf("got %v, want %v", err, cache.ErrUnavailable)
			}
		})
	}
}

func TestARedisThatHangsIsUnavailableInTime(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	for name, form := range map[string]string{"a server": "redis://%s", "a cluster": "redis+cluster://%s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := env.Must(cache.Open(fmt.Sprintf(form, silentServer(t)), timeout))(t)
			t.Cleanup(func() { store.Close() })
			wantUnavailable(t, store, timeout)
		})
	}
	t.Run("a server that used to answer", func(t *testing.T) {
		t.Parallel()
		server := env.Redis(t)
		store := env.Must(cache.Open(server.URL, timeout))(t)
		t.Cleanup(func() { store.Close() })
		env.Until(t, func() error { return store.Ping(t.Context()) })
		server.Pause()
		wantUnavailable(t, store, timeout)
		server.Resume()
		env.Until(t, func() error { return store.Ping(t.Context()) })
	})
}

func silentServer(t *testing.T) string {
	t.Helper()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	var accepting sync.WaitGroup
	var taken []net.Conn
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			taken = append(taken, conn)
		}
	})
	t.Cleanup(func() {
		listener.Close()
		accepting.Wait()
		for _, conn := range taken {
			conn.Close()
		}
	})
	return listener.Addr().String()
}

func TestAStoreOutlivesARestartOfRedis(tt *testing.T) {
	tt.Parallel()
	server := env.Redis(tt)
	t := newBench(tt, server.URL, server.Kill)
	lease := t.store.NewLease(time.Hour)
	work := func() {
		t.wantAcquire("worker", lease, nil)
		t.setView(1, cache.DAODetailKey("a"), "text")
		t.setDAOs(1, governance.DAOListItem{DAOID: "a"})
		t.wantIDs(query.DAOs{}, "a")
		env.WantError(t, nil, setPublished(t.Context(), lease, cache.PublicationState{Revision: 1}))
	}
	work()
	// In the middle of a publication, with a script that the server has to forget.
	writer := t.store.NewWriter(2)
	view := env.Must(cache.NewView(cache.View{}, "later"))(t)
	writer.SetView(t.Context(), cache.DAODetailKey("b"), view)
	server.Restart()
	env.Until(t.T, func() error { return t.store.Ping(t.Context()) })
	env.WantError(t, nil, writer.Flush(t.Context()), "flush after the restart")
	t.wantView(cache.DAODetailKey("b"), "later", 2)
	for _, key := range []cache.Key{cache.DAODetailKey("a"), cache.PublicationKey} {
		if _, err := t.store.View(t.Context(), key); !errors.Is(err, cache.ErrMiss) {
			t.Errorf("%s after the restart: got %v, want %v", key, err, cache.ErrMiss)
		}
	}
	work()
}
