package engine

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

const (
	// tailLines is the number of output lines in the error about an engine's exit.
	tailLines = 8
	// maxLineBytes is the maximum length of a line. The engine repeats queries in messages.
	maxLineBytes = 1 << 10
)

// output receives the standard output and error of the engine. It logs the lines and
// keeps the last ones. Only logger must be set.
type output struct {
	logger *slog.Logger

	mu      sync.Mutex
	partial []byte   // the line that has not ended yet
	last    []string // the last complete lines
}

// Write implements io.Writer. It never fails, and never blocks: that would block the engine.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; ; {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		o.partial = append(o.partial, line[:min(len(line), max(0, maxLineBytes-len(o.partial)))]...)
		if !found {
			return len(p), nil
		}
		o.addLine(string(o.partial))
		o.partial, rest = o.partial[:0], after
	}
}

// addLine logs and keeps a line unless it is empty or a frame of a stack trace.
func (o *output) addLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" || strings.Contains(line, " @ 0x") {
		return
	}
	level := slog.LevelDebug
	if strings.Contains(line, "<Error>") || strings.Contains(line, "<Fatal>") {
		level = slog.LevelWarn
	}
	o.logger.LogAttrs(context.Background(), level, "engine output", slog.String("line", line))
	if len(o.last) == tailLines {
		o.last = o.last[1:]
	}
	o.last = append(o.last, line)
}

// tail returns the last lines, to append to an error message; empty if there are none.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.last
	if unfinished := strings.TrimSpace(string(o.partial)); unfinished != "" {
		lines = append(slices.Clip(lines), unfinished)
	}
	if len(lines) == 0 {
		return ""
	}
	return "; last output: " + strings.Join(lines, "\n")
}
