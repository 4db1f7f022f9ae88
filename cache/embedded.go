package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embeddedTick is how often the clock of the embedded Redis is advanced: it has none of
// its own, and without one no key would expire.
const embeddedTick = 100 * time.Millisecond

// StartEmbedded runs a Redis inside this process until ctx ends, and returns its URL. It
// persists nothing.
func StartEmbedded(ctx context.Context) (string, error) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return "", fmt.Errorf("start the embedded redis: %w", err)
	}
	go func() {
		defer server.Close()
		ticker := time.NewTicker(embeddedTick)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	}()
	return "redis://" + server.Addr(), nil
}
