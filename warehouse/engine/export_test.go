package engine

import (
	"context"
	"io"
	"log/slog"

	"pnyx/warehouse/engine/proxy"
)

// FetchPackage is Fetch for a given package.
func FetchPackage(ctx context.Context, name, version, integrity string, options FetchOptions) (string, error) {
	return fetch(ctx, npmPackage{name: name, version: version, integrity: integrity}, options)
}

// FetchPinnedLibrary is Fetch for a package whose unpacked library must have a SHA-256.
func FetchPinnedLibrary(ctx context.Context, library string, options FetchOptions) (string, error) {
	return fetch(ctx, npmPackage{name: "@pnyx/lib", version: "1.0.0", library: library}, options)
}

// Unpack unpacks the library of a tarball into a folder, and returns its path.
func Unpack(tarball io.Reader, dir string) (string, error) {
	file, err := unpackFrom(tarball, dir, func(string) {})
	return file.path, err
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
	PauseAfter = pauseAfter
)

// Unexported limits for tests.
const (
	// MaxAnalysts is the bound of the connections to the address of analysts.
	MaxAnalysts = proxy.MaxConnections
)
