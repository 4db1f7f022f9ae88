package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// WriteLines writes a file of newline-delimited JSON, and the folders above it.
func WriteLines(tb testing.TB, path string, lines ...string) {
	tb.Helper()
	MustDo(tb, os.MkdirAll(filepath.Dir(path), 0o750))
	WriteFile(tb, path, strings.Join(lines, "\n")+"\n")
}

// WriteFile writes a file in a folder that there is.
func WriteFile(tb testing.TB, path, text string) {
	tb.Helper()
	MustDo(tb, os.WriteFile(path, []byte(text), 0o600)) //nolint:gosec // a test names it
}

// ReadFile reads a file that there must be.
func ReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	return Must(os.ReadFile(path))(tb) //nolint:gosec // a test names it
}

// Import imports a file or folder of source files into the warehouse of the process.
func (p *Pnyx) Import(path string) {
	p.TB.Helper()
	MustRun(p.TB, p.Environ, "import", path)
}

// ImportLines imports lines of a source file into the warehouse of the process.
func (p *Pnyx) ImportLines(lines ...string) {
	p.TB.Helper()
	path := filepath.Join(p.TB.TempDir(), "lines.ndjson")
	WriteLines(p.TB, path, lines...)
	p.Import(path)
}

// warehouseURL is the address of the warehouse of the process.
func (p *Pnyx) warehouseURL() string {
	for _, setting := range p.Environ {
		if url, is := strings.CutPrefix(setting, "CLICKHOUSE_URL="); is {
			return url
		}
	}
	return EmbeddedURL(p.TB, p.DataDir)
}

// Warehouse connects to the warehouse of the process, until the end of the test.
func (p *Pnyx) Warehouse() driver.Conn {
	p.TB.Helper()
	return ConnectWarehouse(p.TB, p.warehouseURL())
}

// ConnectWarehouse connects to a ClickHouse server, until the end of the test.
func ConnectWarehouse(tb testing.TB, url string) driver.Conn {
	tb.Helper()
	options := Must(clickhouse.ParseDSN(url))(tb)
	conn := Must(clickhouse.Open(options))(tb)
	tb.Cleanup(func() { conn.Close() })
	return conn
}

// Column reads a column of texts from the warehouse.
func (p *Pnyx) Column(sql string, args ...any) []string {
	p.TB.Helper()
	return Column(p.TB, p.Warehouse(), sql, args...)
}

// Column reads a column of texts.
func Column(tb testing.TB, conn driver.Conn, sql string, args ...any) (texts []string) {
	tb.Helper()
	untilRunning(tb, func() (err error) {
		texts, err = column(tb.Context(), conn, sql, args...)
		return err
	})
	return texts
}

func column(ctx context.Context, conn driver.Conn, sql string, args ...any) (texts []string, err error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}

// Rows reads rows, of which there must be one, by the command `pnyx sql`. All values are texts.
func (p *Pnyx) Rows(sql string) (rows []map[string]string) {
	p.TB.Helper()
	for line := range strings.Lines(MustRun(p.TB, p.Environ, "sql", "--format", "json", sql)) {
		row := map[string]string{}
		Decode(p.TB, []byte(line), &row)
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		p.TB.Fatalf("%s: got no rows, want some", sql)
	}
	return rows
}

// LargestProposals returns the keys of the n proposals with the most ballots.
func (p *Pnyx) LargestProposals(n int) []string {
	p.TB.Helper()
	return p.Column("SELECT proposal_key FROM proposal_states FINAL ORDER BY votes DESC, proposal_key LIMIT ?", n)
}

// BusiestVoters returns the n voters with the most ballots.
func (p *Pnyx) BusiestVoters(n int) []string {
	p.TB.Helper()
	return p.Column("SELECT voter FROM latest_ballots GROUP BY voter ORDER BY count() DESC, voter LIMIT ?", n)
}

// PendingFeedItems counts, as text, what is published and not in the feed yet.
const PendingFeedItems = `
SELECT toString(countIf(done.revision < item.revision))
FROM
(
    SELECT proposal_ref AS item, revision FROM proposal_states FINAL
    UNION ALL
    SELECT sipHash128('topic', host, external_id), version FROM topics FINAL
    UNION ALL
    SELECT sipHash128('token', toString(scope)), max(version) FROM delegate_power GROUP BY scope
) AS item
LEFT JOIN (SELECT item, revision FROM feed_progress FINAL) AS done ON item.item = done.item`

// AwaitFeed waits until events and signals follow from everything that is published.
func (p *Pnyx) AwaitFeed() {
	p.TB.Helper()
	Until(p.TB, func() error {
		if items := p.Column(PendingFeedItems); items[0] != "0" {
			return fmt.Errorf("%s items are pending", items[0])
		}
		return nil
	})
}
