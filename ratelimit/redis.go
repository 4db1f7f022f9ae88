package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/cache/accounts"
)

// conversation lets redis_rate speak through a pipeline, and sends another command
// along with its first.
type conversation struct {
	redis.Cmdable

	pipeline *cache.Pipeline
	along    redis.Cmder
}

// EvalSha implements what redis_rate asks of a client.
func (c *conversation) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, scriptCommand(ctx, "evalsha", sha1, keys, args...))
}

// Eval implements what redis_rate asks of a client.
func (c *conversation) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, scriptCommand(ctx, "eval", script, keys, args...))
}

func (c *conversation) send(ctx context.Context, command *redis.Cmd) *redis.Cmd {
	var room [2]redis.Cmder
	commands := append(room[:0], command)
	if c.along != nil {
		commands = append(commands, c.along)
		c.along = nil
	}
	if err := c.pipeline.Send(ctx, commands...); err != nil {
		unanswered := redis.NewCmd(ctx)
		unanswered.SetErr(err)
		return unanswered
	}
	return command
}

func scriptCommand(ctx context.Context, name, script string, keys []string, args ...any) *redis.Cmd {
	words := append(make([]any, 0, 3+len(keys)+len(args)), name, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	command := redis.NewCmd(ctx, append(words, args...)...)
	command.SetFirstKeyPos(3)
	return command
}

// giveBack counts one less of a month, unless the count was lost.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var giveBack = redis.NewScript(`
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used == 0 then return 0 end
return redis.call('DECR', KEYS[1])`)

// returnShared counts one less of a month, and returns the count.
func returnShared(ctx context.Context, p *cache.Pipeline, key cache.Key) (int64, error) {
	used, err := giveBack.Run(ctx, &conversation{Cmdable: p.Commands(), pipeline: p}, []string{string(key)}).Int64()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cache.ErrUnavailable, err)
	}
	return used, nil
}

// reserveCommand counts one more of a month, whatever the limit: a script that
// looked first would cost twice the time. Who finds himself beyond the limit counts
// back. No two callers get the same count, so as many are let in as the limit says.
func reserveCommand(ctx context.Context, key cache.Key) *redis.IntCmd {
	return redis.NewIntCmd(ctx, "incr", string(key))
}

// keep gives the count of a month its end.
func keep(ctx context.Context, p *cache.Pipeline, key cache.Key) error {
	return p.Send(ctx, redis.NewBoolCmd(ctx, "expire", string(key), int(accounts.QuotaTTL.Seconds())))
}

// clockTolerance is how much later than its window allows a bucket may be full. One that
// is full later still was used before the clock of Redis was set back, or before another
// server took over whose clock is behind: it would refuse everything until then, and
// begins anew.
const clockTolerance = time.Second

// takeShared asks Redis for tokens of the bucket, and sends a command along. For no
// tokens, it says where the bucket stands.
func takeShared(ctx context.Context, p *cache.Pipeline, r Request, tokens int, along redis.Cmder) (Decision, error) {
	limiter := redis_rate.NewLimiter(&conversation{Cmdable: p.Commands(), pipeline: p, along: along})
	key, rate := accounts.BucketKey(r.Caller, string(r.Bucket)), r.Limits.Rate(r.Bucket)
	limit := redis_rate.Limit{Rate: rate.PerMinute, Burst: rate.Burst, Period: time.Minute}
	result, err := limiter.AllowN(ctx, key, limit, tokens)
	if err == nil && result.ResetAfter > rate.Window()+clockTolerance {
		if err = limiter.Reset(ctx, key); err == nil {
			result, err = limiter.AllowN(ctx, key, limit, tokens)
		}
	}
	if err != nil {
		return Decision{}, fmt.Errorf("%w: %w", cache.ErrUnavailable, err)
	}
	decision := Decision{Allowed: result.RetryAfter < 0, ResetAfter: result.ResetAfter.Round(time.Microsecond)}
	if decision.Allowed {
		// Its own number is cut from a float, and may be one too low.
		decision.Remaining = rate.remaining(decision.ResetAfter)
	} else {
		decision.RetryAfter = max(result.RetryAfter.Round(time.Microsecond), time.Microsecond)
	}
	return decision, nil
}
