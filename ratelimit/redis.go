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

// pipelineClient sends the commands of redis_rate through a pipeline, and another command with the first of them.
type pipelineClient struct {
	redis.Cmdable

	pipeline *cache.Pipeline
	// piggyback is sent with the first command; nil for none.
	piggyback redis.Cmder
}

// EvalSha implements redis.Scripter.
func (c *pipelineClient) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, scriptCommand(ctx, "evalsha", sha1, keys, args...))
}

// Eval implements redis.Scripter.
func (c *pipelineClient) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, scriptCommand(ctx, "eval", script, keys, args...))
}

func (c *pipelineClient) send(ctx context.Context, command *redis.Cmd) *redis.Cmd {
	var room [2]redis.Cmder
	commands := append(room[:0], command)
	if c.piggyback != nil {
		commands = append(commands, c.piggyback)
		c.piggyback = nil
	}
	if err := cache.Send(ctx, c.pipeline, commands...); err != nil {
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

// refund decrements the count of a month, unless the count was lost. KEYS: count.
var refund = redis.NewScript(`
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used == 0 then return 0 end
return redis.call('DECR', KEYS[1])`)

// refundShared decrements the count of a month and returns it.
func refundShared(ctx context.Context, p *cache.Pipeline, key cache.Key) (int64, error) {
	used, err := refund.Run(ctx, &pipelineClient{Cmdable: cache.PipelineClient(p), pipeline: p}, []string{string(key)}).Int64()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cache.ErrUnavailable, err)
	}
	return used, nil
}

// clockTolerance is how far beyond its window a bucket may claim to be full again. A later time means that the
// clock of Redis was set back, or that the clock of a new primary runs behind. Such a bucket would refuse every
// request until then, so it is reset.
const clockTolerance = time.Second

// takeShared takes tokens from a bucket in Redis; zero tokens return its state. piggyback goes along; nil for
// none.
func takeShared(
	ctx context.Context, p *cache.Pipeline, r Request, tokens int, piggyback redis.Cmder,
) (Decision, error) {
	limiter := redis_rate.NewLimiter(&pipelineClient{Cmdable: cache.PipelineClient(p), pipeline: p, piggyback: piggyback})
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
	if result.RetryAfter >= 0 {
		after := max(result.RetryAfter.Round(time.Microsecond), time.Microsecond)
		return Decision{RetryAfter: after, ResetAfter: after}, nil
	}
	// result.Remaining is truncated from a float and may be one too low.
	decision := rate.state(result.ResetAfter.Round(time.Microsecond))
	decision.Allowed = true
	return decision, nil
}
