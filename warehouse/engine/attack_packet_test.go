package engine_test

import (
	"encoding/binary"
	"io"
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

// TestAttackStrayPacketsLeaveTheEngineRunning sends to the engine's own ports what port
// scanners and clients of other servers send there, and leaves in every way.
func TestAttackStrayPacketsLeaveTheEngineRunning(t *testing.T) {
	t.Parallel()
	e := start(t, env.EngineOptions(t))
	i := e.Instance()
	table(t, i)
	hello := string(packet(0, "a", 23, 1, 54032, "", i.AnalystUser, "wrong"))
	for name, sent := range map[string]string{
		"nothing": "", "Redis": "*1\r\n$4\r\nPING\r\n", "TLS": "\x16\x03\x01\x00\xa5\x01", "SSH": "SSH-2.0-OpenSSH_9\r\n",
		"HTTP": "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "half of HTTP": "POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nSELE",
		"a wrong password over HTTP": "GET /?user=analyst&password=a&query=SELECT+1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a wrong password":           hello, "half of a hello": hello[:9], "a long word": "\x00\xff\xff\xff\xff\x0f", "a byte": "x",
	} {
		for _, address := range []string{i.TCPAddr, i.HTTPAddr} {
			for _, leave := range ways() {
				sendAndLeave(t, address, sent, leave)
			}
		}
		if _, err := overHTTP(t, i, i.User, i.Password, "SELECT 1"); err != nil || e.Instance().EnginePID != i.EnginePID {
			t.Fatalf("%s: the engine has ended (%v)", name, err)
		}
	}
	wantCount(t, open(t, i.URL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
	if got := e.Instance().EnginePID; got != i.EnginePID {
		t.Errorf("got engine process %d, want %d: it was restarted", got, i.EnginePID)
	}
}

// sendAndLeave sends bytes, and leaves once the answer begins, or when the engine has ended
// the connection.
func sendAndLeave(t *testing.T, address, sent string, leave func(*net.TCPConn) error) {
	t.Helper()
	dialed, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn := dialed.(*net.TCPConn) //nolint:errcheck,forcetypeassert // the network is tcp
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	_ = leave(conn) // an error means that the engine was first
}

// TestAttackMalformedNativeConnections ends a connection to the engine itself at every place
// at which a client can die, and sends what no client sends.
func TestAttackMalformedNativeConnections(t *testing.T) {
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
			sendAndLeave(t, i.TCPAddr, string(sent), leave)
		}
		_, err := overHTTP(t, i, i.AnalystUser, i.AnalystPassword, "SELECT 1")
		if pid := e.Instance().EnginePID; err != nil || pid != i.EnginePID {
			t.Fatalf("%s: the engine has ended (%v)", name, err)
		}
	}
	wantCount(t, open(t, i.URL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
}
