package cmd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pnyx/config"
)

func TestDurationsAreLoggedInMilliseconds(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"duration_ms":1500.25,`, "text": " duration_ms=1500.25 "} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			newLogger(&out, config.Log{Format: format}).LogAttrs(t.Context(), slog.LevelInfo, "done",
				slog.Duration("duration", 1500*time.Millisecond+250*time.Microsecond), slog.Int("n", 1))
			if !strings.Contains(out.String(), want) {
				t.Errorf("got %s, want %s", &out, want)
			}
		})
	}
}
