package warehouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/backoff"
)

// Bounds of the pause between two attempts to reach a server.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// fullCode is the error code of a server whose disk is full: NOT_ENOUGH_SPACE.
const fullCode = 243

// passingCodes are the error codes of a server that is busy or stopping, or cannot reach another one: TOO_MANY_SIMULTANEOUS_QUERIES,
// SOCKET_TIMEOUT, NETWORK_ERROR, ABORTED, TOO_MANY_PARTS, ALL_CONNECTION_TRIES_FAILED.
var passingCodes = []int32{202, 209, 210, 236, 252, 279} //nolint:gochecknoglobals // a constant that Go cannot write as one

// classifyError wraps an error of the driver in ErrUnreachable when the connection failed, so that the server did not state the
// error itself, or when the error passes by itself. Such a call is worth another attempt.
func classifyError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) || slices.Contains(passingCodes, exception.Code) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if exception.Code == fullCode {
		return fmt.Errorf("the disk of ClickHouse is full, free space and repeat: %w", err)
	}
	return err
}

// Retry calls do until it succeeds, ctx ends or limit has passed, as long as it fails with ErrUnreachable or
// another user has yet to create the schema. Pauses double up to maxPause, with jitter.
func Retry(ctx context.Context, limit time.Duration, logger *slog.Logger, do func() error) error {
	began, pause := time.Now(), firstPause
	for {
		err := do()
		retryable := errors.Is(err, ErrUnreachable) || errors.Is(err, errSchemaOutdated)
		if !retryable || time.Since(began) >= limit {
			return err
		}
		logger.LogAttrs(ctx, slog.LevelWarn, "warehouse not ready, retrying",
			slog.Duration("pause", pause), slog.Any("error", err))
		if backoff.Wait(ctx, backoff.Jitter(pause)); ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		pause = min(2*pause, maxPause)
	}
}
