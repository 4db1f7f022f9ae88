package engine_test

import (
	"encoding/binary"
	"net"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// packet encodes numbers and texts as the native protocol does.
func packet(parts ...any) (b []byte) {
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			b = binary.AppendUvarint(b, uint64(part))
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
		}
	}
	return b
}

// TestMalformedNativeConnectionDoesNotHarmTheEngine ends a connection at every place at
// which a client can die, and sends what no client sends.
func TestMalformedNativeConnectionDoesNotHarmTheEngine(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	e := start(t, options)
	i := e.Instance()
	table(t, i)
	const revision = 54032
	hello := func(revision int, database string) []byte {
		return packet(0, "a", 23, 1, revision, database, i.AnalystUser, i.AnalystPassword)
	}
	info := packet(1, "", "", "0.0.0.0:0", 1, "a", "a", "a", 23, 1, revision)
	ask := append(append(packet(1, ""), info...), packet("", 2, 0, "SELECT 1")...)
	for name, sent := range map[string][]byte{
		"nothing":                      nil,
		"hello":                        hello(revision, engine.AnalystDatabase),
		"half a hello":                 hello(revision, engine.AnalystDatabase)[:20],
		"unknown database":             hello(revision, "nothing"),
		"old revision":                 hello(1, engine.AnalystDatabase),
		"future revision":              hello(99999, engine.AnalystDatabase),
		"unknown packet":               append(hello(revision, engine.AnalystDatabase), 99),
		"second hello":                 append(hello(revision, engine.AnalystDatabase), hello(revision, engine.AnalystDatabase)...),
		"half a query":                 append(hello(revision, engine.AnalystDatabase), ask[:len(ask)/2]...),
		"query without data":           append(hello(revision, engine.AnalystDatabase), ask...),
		"query with half of its data":  append(append(hello(revision, engine.AnalystDatabase), ask...), 2, 0),
		"query with broken data":       append(append(hello(revision, engine.AnalystDatabase), ask...), 2, 0, 1, 255, 255, 255, 255, 255),
		"cancel without a query":       append(hello(revision, engine.AnalystDatabase), 3),
		"tables status":                append(hello(revision, engine.AnalystDatabase), 5, 1),
		"query of a table that is not": append(append(hello(revision, engine.AnalystDatabase), packet(1, "")...), append(info, packet("", 2, 0, "SELECT * FROM nothing")...)...),
	} {
		for _, leave := range ways() {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", i.AnalystAddr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(sent); err != nil {
				t.Fatal(err)
			}
			_ = leave(conn.(*net.TCPConn)) //nolint:errcheck,forcetypeassert // the network is tcp
		}
		env.Until(t, func() error {
			_, err := overHTTP(t, i, i.AnalystUser, i.AnalystPassword, "SELECT 1")
			return err
		})
		if pid := e.Instance().EnginePID; pid != i.EnginePID {
			t.Errorf("%s: the engine was restarted", name)
			i.EnginePID = pid
		}
	}
	wantCount(t, open(t, i.URL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
}
