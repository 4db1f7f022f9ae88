package ratelimit

import (
	"context"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/cache/accounts"
)

// MarkPaid records for accounts.PaidFileTTL that a response of the month was used for a file. An error costs the
// caller one more response if the download is interrupted.
func (l *Limiter) MarkPaid(ctx context.Context, caller, file string) {
	command := redis.NewStatusCmd(ctx, "set", string(accounts.PaidFileKey(caller, file)), 1, "ex", int(accounts.PaidFileTTL.Seconds()))
	if err := cache.Send(ctx, l.Pipeline, command); err != nil {
		l.backOff(ctx, err)
	}
}

// HasPaid reports whether MarkPaid was called for a file within accounts.PaidFileTTL.
func (l *Limiter) HasPaid(ctx context.Context, caller, file string) bool {
	if l.retryAt.Load() != 0 {
		return false
	}
	command := redis.NewIntCmd(ctx, "exists", string(accounts.PaidFileKey(caller, file)))
	if err := cache.Send(ctx, l.Pipeline, command); err != nil {
		l.backOff(ctx, err)
		return false
	}
	return command.Val() == 1
}
