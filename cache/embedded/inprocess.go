package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clockInterval is how often the clock of the Redis inside the process is advanced. Otherwise no key would expire.
const clockInterval = 100 * time.Millisecond

// StartInProcess runs a Redis inside this process until ctx ends, and returns its URL with a password that is new
// each time: other users of the machine can reach the port.
func StartInProcess(ctx context.Context) (string, error) {
	password := rand.Text()
	server := miniredis.NewMiniRedis()
	server.RequireAuth(password)
	if err := server.Start(); err != nil {
		return "", fmt.Errorf("start the redis inside the process: %w", err)
	}
	go func() {
		defer server.Close()
		ticker := time.NewTicker(clockInterval)
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
	address := url.URL{Scheme: "redis", User: url.UserPassword("", password), Host: server.Addr()}
	return address.String(), nil
}
