package access

import (
	"context"
	"time"
)

// PollInterval is how often Run looks for changed tokens where nobody else does.
const PollInterval = pollInterval

// AwaitRefresh waits as Run does before it reads the tokens again.
func (c *TokenCache) AwaitRefresh(ctx context.Context, tick <-chan time.Time) bool {
	return c.await(ctx, tick)
}
