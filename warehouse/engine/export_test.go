package engine

import (
	"context"
	"log/slog"
)

// FetchPackage is Fetch of a package of one's own.
func FetchPackage(ctx context.Context, name, version, integrity string, options FetchOptions) (string, error) {
	return fetch(ctx, npmPackage{name, version, integrity}, options)
}

// Tail is what is repeated of an engine that wrote all these.
func Tail(logger *slog.Logger, writes ...string) string {
	o := &output{logger: logger}
	for _, text := range writes {
		if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
			panic("an engine must not stand still because of its output")
		}
	}
	return o.tail()
}

// ServerConfig is the configuration for options.
func ServerConfig(options Options) (string, error) {
	text, err := serverConfig(layoutOf(options.DataDir), options)
	return string(text), err
}

// Unexported names that tests call as they are.
var (
	Backoff      = backoff
	ParseVersion = parseVersion
)

// Limits that tests compare with.
const (
	MaxBackoff = maxBackoff
	ChildGrace = childGracePeriod
)
