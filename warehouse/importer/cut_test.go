package importer_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
)

// TestImportOutlastsACutAtItsStatements cuts the connection to the engine when a statement
// first passes, as an engine does that dies there: an import whose data is written must
// not fail for what comes after.
func TestImportOutlastsACutAtItsStatements(t *testing.T) {
	t.Parallel()
	const votes = `{"id":"0x1","proposal":{"id":"0xp"},"voter":"0x00000000000000000000000000000000000000AA",` +
		`"created":1700000000,"choice":1,"vp":1.25,"reason":null}` + "\n"
	const proposals = `{"id":"0xq","title":"t","body":"","choices":["a","b"],"start":1700000000,"end":1700000100,` +
		`"created":1700000000,"state":"closed","author":"0x00000000000000000000000000000000000000AA",` +
		`"space":{"id":"s.eth"},"type":"single-choice","scores":[1,0],"scores_total":1,"votes":1}` + "\n"
	for name, statement := range map[string]string{
		"looking up":        "batch_keys",
		"writing":           "INSERT INTO ballots",
		"marking as synced": "INTO syncs",
		"counting waiting":  "uniqExact(proposal_ref, voter, vote_id) AS waiting",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for file, text := range map[string]string{"votes.ndjson": votes, "proposals.ndjson": proposals} {
				env.WriteFile(t, filepath.Join(folder, file), text)
			}
			instance := env.SharedEngine(t)
			database := env.MigratedDatabase(t, instance)
			cut := cutAt(t, instance.TCPAddr, statement)
			instance.TCPAddr = cut.address
			opened := env.Must(warehouse.Open(t.Context(), warehouse.Options{
				URL: instance.URL(database), Logger: slog.New(slog.DiscardHandler),
			}))(t)
			t.Cleanup(func() { _ = opened.Close() })
			report, err := importer.Run(t.Context(), []string{folder}, importer.Options{
				Warehouse: opened, BatchSize: 10, RejectsDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatalf("the import failed: %v", err)
			}
			if !cut.done.Load() {
				t.Errorf("no statement with %q was sent", statement)
			}
			if report.Rejected != 0 || report.Waiting != 1 {
				t.Errorf("got %d rejected and %d waiting records, want 0 and the ballot of 0xp", report.Rejected, report.Waiting)
			}
		})
	}
}

// A cut is a relay to the engine that closes the connection on which it first sees a text.
type cut struct {
	address, engine string
	text            []byte
	done            atomic.Bool
}

func cutAt(t *testing.T, engine, text string) *cut {
	t.Helper()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	c := &cut{address: listener.Addr().String(), engine: engine, text: []byte(text)}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.relay(client)
		}
	}()
	return c
}

func (c *cut) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.engine)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil || bytes.Contains(buffer[:n], c.text) && c.done.CompareAndSwap(false, true) {
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}
