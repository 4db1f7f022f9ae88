package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embeddedTick is how often the embedded Redis is told that time has passed: it
// has no clock of its own, and without one no lease would ever end.
const embeddedTick = 100 * time.Millisecond

// StartEmbedded runs a Redis inside this process until ctx ends, and returns its
// URL. Its content is gone with it.
func StartEmbedded(ctx context.Context) (string, error) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return "", fmt.Errorf("start the embedded Redis: %w", err)
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
