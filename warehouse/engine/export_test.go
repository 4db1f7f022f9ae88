package engine

import (
	"context"
	"log/slog"

	"pnyx/warehouse/engine/proxy"
)

// FetchPackage is Fetch for a given package.
func FetchPackage(ctx context.Context, name, version, integrity string, options FetchOptions) (string, error) {
	return fetch(ctx, npmPackage{name, version, integrity}, options)
}

// Tail returns the tail of an output that received the given writes.
func Tail(logger *slog.Logger, writes ...string) string {
	o := &output{logger: logger}
	for _, text := range writes {
		if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
			panic("output.Write must not fail or write partially")
		}
	}
	return o.tail()
}

// ServerConfig returns the server configuration for options.
func ServerConfig(options Options) (string, error) {
	text, err := serverConfig(layoutOf(options.DataDir), options)
	return string(text), err
}

// Unexported functions for tests.
var (
	Backoff      = backoff
	ParseVersion = parseVersion
)

// Unexported limits for tests.
const (
	MaxBackoff = maxBackoff
	ChildGrace = childGracePeriod
	// MaxAnalysts is the bound of the connections to the address of analysts.
	MaxAnalysts = proxy.MaxConnections
)
