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
	// tailLines is how much of what an engine wrote is repeated in the error
	// about its end.
	tailLines = 8

	// maxLineBytes bounds a line, in bytes. The engine repeats queries in messages.
	maxLineBytes = 1 << 10
)

// output takes what the engine writes to standard output and error: it logs
// complaints, and keeps the last lines. The zero value with a logger is ready.
type output struct {
	logger *slog.Logger

	mu      sync.Mutex
	partial []byte
	last    []string
}

// Write never fails and never blocks: the engine must not stand still because
// nobody listens.
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

// addLine keeps a line unless it is empty or a frame of a stack trace.
func (o *output) addLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" || strings.Contains(line, " @ 0x") {
		return
	}
	level := slog.LevelDebug
	if strings.Contains(line, "<Error>") || strings.Contains(line, "<Fatal>") {
		level = slog.LevelWarn
	}
	o.logger.LogAttrs(context.Background(), level, "engine says", slog.String("line", line))
	if len(o.last) == tailLines {
		o.last = o.last[1:]
	}
	o.last = append(o.last, line)
}

// tail is the last lines, ready to follow a message; empty when there are none.
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
	return "; it said: " + strings.Join(lines, "\n")
}
