package e2e_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// daoExport reads the manifest of a DAO, or of what changed since a revision.
func (e *exporter) daoExport(daoID string, since governance.Decimal) (export governance.DAOExport) {
	e.Helper()
	path := "/v2/daos/" + url.PathEscape(daoID) + "/export"
	if since != "" {
		path += "?since=" + string(since)
	}
	_, body := e.get(path, http.StatusOK)
	if err := json.Unmarshal(body, &struct{ Data any }{&export}); err != nil {
		e.Fatal(err)
	}
	return export
}

// exportedRows are the rows of all parts, in lines. A part may be gone.
func (e *exporter) exportedRows(export governance.DAOExport) ([]string, error) {
	var all []string
	for _, part := range export.Parts {
		answer, body, err := e.fetch(part.Formats.NDJSON)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("got %d %s", answer.StatusCode, body)
		}
		if err != nil {
			return nil, err
		}
		rows := strings.SplitAfter(string(body), "\n")
		rows = rows[:len(rows)-1]
		counts := part.Rows
		if total := counts.Proposals + counts.Ballots + counts.Topics + counts.Events + counts.Removed; len(rows) != total || total > query.DAOPartRows {
			e.Errorf("got a part of %d rows, want %+v", len(rows), counts)
		}
		all = append(all, rows...)
	}
	return all, nil
}

// applied returns what a mirror holds after rows of an export: the lines of each key.
func applied(tb testing.TB, held map[string]string, rows []string) map[string]string {
	tb.Helper()
	held = maps.Clone(held)
	if held == nil {
		held = map[string]string{}
	}
	for _, line := range rows {
		var row governance.DAOExportRow
		env.Decode(tb, []byte(line), &row)
		key := string(row.Kind) + " " + row.Key
		if row.Kind == governance.BallotRows {
			key += " " + row.Ballot.VoterIdentity
		}
		if row.Kind == governance.ProposalRows {
			maps.DeleteFunc(held, func(key, _ string) bool { return strings.HasPrefix(key, "ballot "+row.Key+" ") })
		}
		if held[key] = line; row.Removed {
			delete(held, key)
		}
	}
	return held
}

// walkDAO returns what a mirror holds after it has walked all lists and asked for each detail.
func walkDAO(i *instance, daoID string) (map[string]string, error) {
	held := map[string]string{}
	add := func(key string, row governance.DAOExportRow) error {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		held[string(row.Kind)+" "+key] = ""
		err := encoder.Encode(row)
		held[string(row.Kind)+" "+key] = line.String()
		return err
	}
	err := walkRows(i, "/v2/proposals?flagged=true&daoId="+daoID, 100, func(item governance.ProposalListItem) error {
		path := "/v2/proposals/" + string(item.ProposalKey)
		row := governance.DAOExportRow{Kind: governance.ProposalRows, Key: string(item.ProposalKey)}
		if _, err := i.Read(path, &row.Proposal); err != nil {
			return err
		}
		if _, err := i.Read(path+"/votes/summary", &row.Votes); err != nil {
			return err
		}
		if err := add(row.Key, row); err != nil || row.Votes.Held.Votes == "0" {
			return err
		}
		return walkRows(i, path+"/votes", 500, func(ballot governance.Ballot) error {
			return add(row.Key+" "+ballot.VoterIdentity, governance.DAOExportRow{Kind: governance.BallotRows, Key: row.Key, Ballot: &ballot.ExportedBallot})
		})
	})
	if err != nil {
		return nil, err
	}
	err = walkRows(i, "/v2/forum-topics?daoId="+daoID, 100, func(item governance.ForumTopic) error {
		row := governance.DAOExportRow{Kind: governance.TopicRows, Key: string(item.TopicKey)}
		if _, err := i.Read("/v2/forum-topics/"+row.Key, &row.Topic); err != nil {
			return err
		}
		return add(row.Key, row)
	})
	for from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); err == nil && from.Year() < 2030; from = from.AddDate(0, 0, 90) {
		path := fmt.Sprintf("/v2/events?daoId=%s&from=%s&to=%s", daoID, from.Format(time.DateOnly), from.AddDate(0, 0, 90).Format(time.DateOnly))
		err = walkRows(i, path, 200, func(event governance.Event) error {
			return add(event.EventID, governance.DAOExportRow{Kind: governance.EventRows, Key: event.EventID, Event: &event})
		})
	}
	return held, err
}

func walkRows[Row any](i *instance, path string, limit int, do func(Row) error) error {
	rows, err := i.Walk(path, limit)
	for _, text := range rows {
		var row Row
		if err == nil {
			err = json.Unmarshal(text, &row)
		}
		if err == nil {
			err = do(row)
		}
	}
	return err
}

// awaitExport exports a DAO until the rows equal the walk of all lists. Events that follow would replace its parts.
func (e *exporter) awaitExport(i *instance, daoID string) (export governance.DAOExport, held map[string]string) {
	e.Helper()
	i.AwaitFeed()
	env.Until(e, func() error {
		want, err := walkDAO(i, daoID)
		if err != nil {
			return err
		}
		export = e.daoExport(daoID, "")
		rows, err := e.exportedRows(export)
		if err != nil {
			return err
		}
		held = applied(e, nil, rows)
		if diff := cmp.Diff(want, held); diff != "" {
			return fmt.Errorf("%s differs from its walk (%d rows, %d walked): %.3000s", daoID, len(held), len(want), diff)
		}
		return nil
	})
	return export, held
}

func TestLongExportOfADAO(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{"REDIS_URL=" + env.Redis(t).URL}, "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "3", "--proposals", "60", "--ballots", "64000", "--largest", "51000"))
	i.AwaitPublished()
	e := newExporter(t, i.URL)
	var daos []governance.DAOListItem
	env.Must(i.Read("/v2/daos", &daos))(t)
	var sum governance.ExportRowCounts
	for _, dao := range daos {
		export, held := e.awaitExport(i, dao.DAOID)
		rows := export.Rows
		if total := rows.Proposals + rows.Ballots + rows.Topics + rows.Events; total != len(held) || rows.Removed != 0 {
			t.Errorf("%s: the manifest counts %+v, want %d rows", dao.DAOID, rows, len(held))
		}
		if rows.Ballots > query.DAOPartRows && len(export.Parts) < 2 || rows.Ballots < query.DAOPartRows/2 && len(export.Parts) > 1 {
			t.Errorf("%s: got %d parts of %+v", dao.DAOID, len(export.Parts), rows)
		}
		t.Run("DuckDB reads "+dao.DAOID, func(t *testing.T) { checkDuckDB(t, newExporter(t, i.URL), dao.DAOID, held) })
		sum.Proposals, sum.Topics, sum.Events = sum.Proposals+rows.Proposals, sum.Topics+rows.Topics, sum.Events+rows.Events
		checkDAOForms(t, e, export.Parts[len(export.Parts)-1])
	}
	if sum.Proposals == 0 || sum.Topics == 0 || sum.Events == 0 {
		t.Errorf("got %+v, want rows of each kind", sum)
	}
	daoID := daos[0].DAOID
	e.get("/v2/daos/nobody/export", http.StatusNotFound)
	e.get("/v2/daos/"+daoID+"/export/unknown", http.StatusGone)
	e.get("/v2/daos/"+daoID+"/export?since=1", http.StatusGone)
	e.get("/v2/daos/"+daoID+"/export?since=-1", http.StatusBadRequest)
	i.Stop()
}

// checkDuckDB lets DuckDB add up the ballots of each proposal in the Parquet of an export.
func checkDuckDB(t *testing.T, e *exporter, daoID string, held map[string]string) {
	t.Helper()
	if _, err := os.Stat("npm/node_modules/.package-lock.json"); err != nil {
		t.Skip("no node_modules: make npm")
	}
	dir := t.TempDir()
	var files []string
	env.Until(t, func() error { // a part is gone once a sorted copy of its ballots has been made
		files = nil
		for i, part := range e.daoExport(daoID, "").Parts {
			answer, columns, err := e.fetch(part.Formats.Parquet)
			if err != nil || answer.StatusCode != http.StatusOK {
				return fmt.Errorf("part %d: got %v, %w", i, answer, err)
			}
			files = append(files, filepath.Join(dir, fmt.Sprint(i, ".parquet")))
			if err := os.WriteFile(files[i], columns, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	env.WantError(t, nil, compareDuckDB(t.Context(), files, held))
}

// compareDuckDB holds what DuckDB counts of each proposal in files of Parquet against a mirror's lines.
func compareDuckDB(ctx context.Context, files []string, held map[string]string) error {
	out, err := exec.CommandContext(ctx, "node", append([]string{"npm/parquet.mjs"}, files...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("DuckDB: %w: %s", err, out)
	}
	type total struct {
		votes int
		power string
	}
	sums, want, got := map[string]*big.Rat{}, map[string]total{}, map[string]map[string]total{}
	for _, file := range files {
		got[filepath.Dir(file)] = map[string]total{}
	}
	for name, line := range held {
		var row governance.DAOExportRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if row.Ballot == nil {
			continue
		}
		power, _ := new(big.Rat).SetString(string(row.Ballot.VotingPower))
		if sums[row.Key] == nil {
			sums[row.Key] = new(big.Rat)
		}
		sum := sums[row.Key].Add(sums[row.Key], power)
		want[row.Key] = total{want[row.Key].votes + 1, sum.FloatString(18)}
	}
	for line := range strings.Lines(string(out)) {
		var folder, key string
		var sum total
		if _, err := fmt.Sscan(line, &folder, &key, &sum.votes, &sum.power); err != nil {
			return fmt.Errorf("DuckDB printed %q: %w", line, err)
		}
		got[folder][key] = sum
	}
	for folder, sums := range got {
		if diff := cmp.Diff(want, sums, cmp.AllowUnexported(total{})); diff != "" || len(want) == 0 {
			return fmt.Errorf("DuckDB differs in %s (-want +got): %.2000s", folder, diff)
		}
	}
	return nil
}

// checkDAOForms holds the CSV and the Parquet of a part against its lines, and resumes a download.
func checkDAOForms(t *testing.T, e *exporter, part governance.DAOExportPart) {
	t.Helper()
	whole, text := e.get(part.Formats.NDJSON, http.StatusOK)
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	_, values := e.get(part.Formats.CSV, http.StatusOK)
	records, err := csv.NewReader(bytes.NewReader(values)).ReadAll()
	if err != nil || len(records) != len(lines)+1 {
		t.Fatalf("got %d records and %v, want %d", len(records), err, len(lines)+1)
	}
	answer, columns := e.get(part.Formats.Parquet, http.StatusOK)
	env.Want(t, "application/vnd.apache.parquet", answer.Header.Get("Content-Type"))
	type tableRow struct {
		Kind     string `parquet:"kind"`
		Key      string `parquet:"key"`
		Proposal *struct {
			Title *string `parquet:"title"`
		} `parquet:"proposal"`
		Ballot *struct {
			VotingPower string `parquet:"votingPower"`
			VotedAt     *int64 `parquet:"votedAt,timestamp(millisecond)"`
			Invalid     bool   `parquet:"invalid"`
			Choice      struct {
				Label string `parquet:"label"`
			} `parquet:"choice"`
		} `parquet:"ballot"`
		Event *struct {
			ImportanceScore int64 `parquet:"importanceScore"`
		} `parquet:"event"`
	}
	table, err := parquet.Read[tableRow](bytes.NewReader(columns), int64(len(columns)))
	if err != nil || len(table) != len(lines) {
		t.Fatalf("got %d rows of Parquet and %v, want %d", len(table), err, len(lines))
	}
	cell := func(record []string, name string) string { return record[slices.Index(records[0], name)] }
	for i, line := range lines {
		var row governance.DAOExportRow
		env.Decode(t, line, &row)
		got, record := table[i], records[i+1]
		if got.Kind != string(row.Kind) || got.Key != row.Key || cell(record, "key") != row.Key ||
			(got.Proposal == nil) != (row.Proposal == nil) || (got.Ballot == nil) != (row.Ballot == nil) || (got.Event == nil) != (row.Event == nil) {
			t.Fatalf("row %d: got %+v and %q, want %s", i, got, record, line)
		}
		switch {
		case row.Proposal != nil && (got.Proposal.Title == nil) != (row.Proposal.Title == nil),
			row.Ballot != nil && (got.Ballot.VotingPower != string(row.Ballot.VotingPower) || got.Ballot.Choice.Label != row.Ballot.Choice.Label ||
				got.Ballot.Invalid != row.Ballot.Invalid || (got.Ballot.VotedAt == nil) != (row.Ballot.VotedAt == nil) ||
				row.Ballot.VotedAt != nil && (*got.Ballot.VotedAt != int64(*row.Ballot.VotedAt) || cell(record, "ballot.votedAt") != row.Ballot.VotedAt.String()) ||
				cell(record, "ballot.votingPower") != string(row.Ballot.VotingPower)),
			row.Event != nil && got.Event.ImportanceScore != int64(row.Event.ImportanceScore):
			t.Fatalf("row %d: got %+v and %q, want %s", i, got, record, line)
		}
	}
	_, rest := e.get(part.Formats.NDJSON, http.StatusPartialContent, "Range", "bytes=9-", "If-Range", whole.Header.Get("Etag"))
	if !bytes.Equal(rest, text[9:]) {
		t.Errorf("got %d bytes from byte 9, want %d", len(rest), len(text)-9)
	}
	e.get(part.Formats.NDJSON, http.StatusNotModified, "If-None-Match", whole.Header.Get("Etag"))
}

// TestLongDeltaOfADAO keeps a mirror up to date by what changed since its revision, also after restarts.
func TestLongDeltaOfADAO(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	environ := []string{"CLICKHOUSE_URL=" + env.DatabaseURL(t), "REDIS_URL=" + env.Redis(t).URL}
	i := start(t, t.TempDir(), environ, "serve").ready()
	i.ImportLines(goodSpace)
	i.ImportLines(`{"daoId":"a.eth","name":"A","sources":[{"provider":"snapshot","id":"a.eth"},{"provider":"discourse","id":"forum.a.org"}]}`)
	i.ImportLines(proposalLine("a.eth", "one"), proposalLine("a.eth", "two"))
	i.ImportLines(slices.Concat(castBallots("one", 0, 40), castBallots("two", 0, 30))...)
	topics := filepath.Join(t.TempDir(), "forum.a.org", "topics.ndjson")
	env.MustDo(t, os.Mkdir(filepath.Dir(topics), 0o700))
	const topic = `{"id":%d,"title":"Topic","category_id":1,"posts_count":3,"visible":%t}`
	env.WriteLines(t, topics, fmt.Sprintf(topic, 1, true), fmt.Sprintf(topic, 2, true))
	i.Import(topics)
	i.AwaitPublished()
	e := newExporter(t, i.URL)
	_, held := e.awaitExport(i, "a.eth")
	var whole governance.DAOExport
	changes := map[string]func() governance.ExportRowCounts{
		"a restart": func() governance.ExportRowCounts {
			i.Stop()
			i = start(t, t.TempDir(), environ, "serve").ready()
			e = newExporter(t, i.URL)
			return governance.ExportRowCounts{}
		},
		"a ballot": func() governance.ExportRowCounts {
			i.ImportLines(castBallots("two", 30, 31)...)
			return governance.ExportRowCounts{Proposals: 1, Ballots: 31}
		},
		"a proposal and a topic that is hidden": func() governance.ExportRowCounts {
			i.ImportLines(proposalLine("a.eth", "three"))
			env.WriteLines(t, topics, fmt.Sprintf(topic, 2, false))
			i.Import(topics)
			return governance.ExportRowCounts{Proposals: 1, Removed: 1}
		},
	}
	for _, name := range []string{"a restart", "a ballot", "a proposal and a topic that is hidden", "a restart"} {
		e.settle("a.eth", &whole, &held)
		want := changes[name]()
		i.AwaitPublished()
		before := held
		env.Until(t, func() error {
			walked, err := walkDAO(i, "a.eth")
			if err != nil {
				return err
			}
			delta := e.daoExport("a.eth", whole.Revision)
			rows, err := e.exportedRows(delta)
			if err != nil {
				return err
			}
			held = applied(t, before, rows)
			got := delta.Rows
			if want.Events = got.Events; cmp.Diff(walked, held) != "" || got.Proposals < want.Proposals || got.Removed < want.Removed {
				return fmt.Errorf("after %s: got %+v, %s", name, got, cmp.Diff(walked, held))
			}
			// A restart tells again what came within a minute before.
			told := i.Column("SELECT toString(uniqExact(key)) FROM changes WHERE kind = 'proposal' AND at_ms * 1000 > toUInt64(?) AND at_ms * 1000 <= toUInt64(?)",
				string(whole.Revision), string(delta.Revision))
			if fmt.Sprint(got.Proposals) != told[0] {
				t.Errorf("after %s: got a delta of %+v, want the %s proposals that the log of changes tells", name, got, told[0])
			}
			return nil
		})
	}
	i.Stop()
}

// settle applies what changed since a manifest until nothing has.
func (e *exporter) settle(daoID string, export *governance.DAOExport, held *map[string]string) {
	e.Helper()
	*export = e.daoExport(daoID, "")
	env.Until(e, func() error {
		delta := e.daoExport(daoID, export.Revision)
		rows, err := e.exportedRows(delta)
		if err != nil {
			return err
		}
		*held = applied(e, *held, rows)
		*export = delta
		if len(rows) > 0 {
			return fmt.Errorf("got %+v", delta.Rows)
		}
		return nil
	})
}
