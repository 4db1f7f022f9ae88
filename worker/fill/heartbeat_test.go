package fill

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// lateHeartbeat is a hook of the client that holds the first heartbeat of a fill back until
// the fill is completed, or the heartbeat is no longer wanted.
type lateHeartbeat struct {
	begun, completed, ended chan struct{}
}

// DialHook changes nothing.
func (h lateHeartbeat) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook changes nothing.
func (h lateHeartbeat) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook holds the heartbeat back, which is the only pipeline that begins with
// SET, and waits for the one of Fills.Complete, which stores the page first.
func (h lateHeartbeat) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		switch cmds[0].Name() {
		case "set":
			close(h.begun)
			defer close(h.ended)
			select {
			case <-h.completed:
				return next(context.WithoutCancel(ctx), cmds)
			case <-ctx.Done():
				cmds[0].SetErr(ctx.Err())
				return ctx.Err()
			}
		case "eval":
			defer close(h.completed)
		}
		return next(ctx, cmds)
	}
}

func TestAttackALateHeartbeatDoesNotHoldACompletedPage(t *testing.T) {
	t.Parallel()
	url := env.EmbeddedRedis(t)
	store := env.Store(t, url)
	hook := lateHeartbeat{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	cache.Client(store.Conn()).AddHook(hook)
	filler := New(Options{
		Store: store, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	filler.kinds[query.KindBallots] = kindOfPage{build: func(context.Context, *page, cache.PageRequest) (any, error) {
		<-hook.begun
		return nil, errAbsent
	}, setSize: 1}
	filler.fill(t.Context(), []cache.Fill{{
		Page:     cache.NewPageRequest(query.Ballots{Proposal: "p1_x"}),
		Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
	}}, func() {})
	<-hook.ended
	pending := env.Must(env.RedisClient(t, url).Keys(t.Context(), "*pending:*").Result())(t)
	env.Want(t, 0, len(pending), "the pending pages", pending, "none: the page would not be enqueued again")
}
