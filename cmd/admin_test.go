package cmd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/test/env"
)

func TestNodeLogsWhatItWaitsForUntilItIsReady(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		readyAfter time.Duration
		want       []string
	}{
		"ready at once":   {0, nil},
		"ready after 40s": {40 * time.Second, []string{"waited_ms=1000 ", "waited_ms=31000 ", "msg=ready waited_ms=40000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var out bytes.Buffer
				logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: inMilliseconds}))
				logUntilReady(t.Context(), logger, func(context.Context) error {
					if time.Since(began) < test.readyAfter {
						return errors.New("redis: connection refused")
					}
					return nil
				})
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				if out.Len() == 0 {
					lines = nil
				}
				if len(lines) != len(test.want) {
					t.Fatalf("got %q, want %d lines", lines, len(test.want))
				}
				for i, want := range test.want {
					env.WantPart(t, want, lines[i], "line", i, "in it")
				}
			})
		})
	}
}
