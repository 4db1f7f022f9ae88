package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"pnyx/cache"
)

// checkServersEvery is how often it is looked whether Redis is still set up as it
// has to be.
const checkServersEvery = time.Minute

// openStore connects to a Redis until the clean-up. One that is set up so that
// answers could be wrong is refused; one that does not answer yet is waited for by
// those who use it.
func (n *node) openStore(ctx context.Context, url string, timeout time.Duration) (*cache.Store, error) {
	store, err := openCache(url, timeout, &n.undo)
	if err != nil {
		return nil, err
	}
	if err := store.CheckServers(ctx); errors.Is(err, cache.ErrServerConfig) {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	n.background(func(ctx context.Context) { n.watchServers(ctx, store) })
	return store, nil
}

// watchServers says once what was changed for the worse while the node runs: what
// is served goes on being right until something is evicted.
func (n *node) watchServers(ctx context.Context, store *cache.Store) {
	ticker := time.NewTicker(checkServersEvery)
	defer ticker.Stop()
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := store.CheckServers(ctx)
		if errors.Is(err, cache.ErrServerConfig) && err.Error() != said {
			said = err.Error()
			n.logger.LogAttrs(ctx, slog.LevelError, "redis must be set up otherwise", slog.Any("error", err))
		}
	}
}
