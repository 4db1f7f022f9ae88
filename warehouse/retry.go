package warehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Pauses between tries to reach a server that is away.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// unreachableCodes are the codes with which a server that is going down, or cannot reach
// another one, answers instead of not answering: SOCKET_TIMEOUT, NETWORK_ERROR,
// ABORTED.
func unreachableCodes() []int32 { return []int32{209, 210, 236} }

// classifyError sorts an error of the driver: what the server itself did not say is a
// connection that failed, ErrUnreachable, and worth another try.
func classifyError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		return err
	}
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && !slices.Contains(unreachableCodes(), exception.Code) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// Retry does something again and again while it fails with ErrUnreachable, or for want
// of a schema that somebody else makes, with growing pauses, for as long as limit says.
func Retry(ctx context.Context, limit time.Duration, logger *slog.Logger, do func() error) error {
	began, pause := time.Now(), firstPause
	for {
		err := do()
		if !errors.Is(err, ErrUnreachable) && !errors.Is(err, errSchemaOutdated) || time.Since(began) >= limit {
			return err
		}
		logger.LogAttrs(ctx, slog.LevelWarn, "the warehouse is not ready, trying again",
			slog.Duration("pause", pause), slog.Any("error", err))
		timer := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // no secret
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
		pause = min(2*pause, maxPause)
	}
}
