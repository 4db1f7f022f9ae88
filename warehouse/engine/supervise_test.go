package engine_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pnyx/warehouse/engine"
)

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	for failures, want := range []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
		1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, engine.MaxBackoff, engine.MaxBackoff,
	} {
		t.Run(fmt.Sprintf("after %d failures", failures), func(t *testing.T) {
			if got := engine.Backoff(failures, 0); got != want {
				t.Errorf("after %d failures: got %v, want %v", failures, got, want)
			}
			if got := engine.Backoff(failures, 1); got != want/2 {
				t.Errorf("after %d failures, with full jitter: got %v, want %v", failures, got, want/2)
			}
		})
	}
	if got, want := engine.Backoff(1_000_000, 0), engine.MaxBackoff; got != want {
		t.Errorf("after a million failures: got %v, want %v", got, want)
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	var writes []string
	for i := range 20 {
		writes = append(writes, fmt.Sprintf("line %d\n", i), "3. ? @ 0x000000001c8fa579\n\n")
	}
	got := engine.Tail(slog.New(slog.DiscardHandler), append(writes, "cut ", "in two\nunfinished")...)
	want := "; last output: line 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19\ncut in two\nunfinished"
	if got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
	if got := engine.Tail(slog.New(slog.DiscardHandler)); got != "" {
		t.Errorf("tail without output: got %q, want an empty string", got)
	}
}

func TestEngineErrorsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	engine.Tail(slog.New(slog.NewTextHandler(&out, nil)),
		"2026.11.21 03:30:14.41 [ 1 ] {} <Error> MergeTask: no space left\n", "all is well\n", strings.Repeat("long", 1<<20)+" <Error>\n")
	if got := out.String(); !strings.Contains(got, "no space left") || strings.Contains(got, "well") || len(got) > 4<<10 {
		t.Errorf("logged: got %.4096s, want the error and nothing else, at most 4 KiB", got)
	}
}

func TestConfigurationIsWellFormed(t *testing.T) {
	t.Parallel()
	text, err := engine.ServerConfig(engine.Options{
		DataDir: "/data & <more>", Password: "<>&\"'", Shards: []string{"[::1]:9000", "a.example:9000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err = decoder.Token(); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("configuration: got %v, want well-formed XML in\n%s", err, text)
	}
	if _, err := engine.ServerConfig(engine.Options{Shards: []string{"no port"}}); err == nil {
		t.Error("shard without a port: got no error, want one")
	}
}
