package env

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// The embedded engine aborts, rarely, when a client ends without a farewell, and is started again at its address:
// tests that share it repeat what finds no engine.

// codeAborted is the error of an engine that is ending.
const codeAborted = 236

// isRestarting reports whether an error comes from an engine which is being started again.
func isRestarting(err error) bool {
	if exception, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return exception.Code == codeAborted
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// untilRunning does something that needs the engine, again while that is being started again.
func untilRunning(tb testing.TB, do func() error) {
	tb.Helper()
	var err error
	Until(tb, func() error {
		if err = do(); err != nil && isRestarting(err) {
			return err
		}
		return nil
	})
	MustDo(tb, err)
}
