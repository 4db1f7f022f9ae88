package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

const (
	// walkedInQuick is how many pages of the baseline a quick run walks. A full one walks all.
	walkedInQuick = 200
	// maxRetries bounds requests of an answer that a busy machine did not make in time.
	maxRetries = 5
)

// exportRows measure the download of all ballots of the largest proposal, and of a whole DAO.
func exportRows() []Row {
	row := func(id, name, baseline, unit string, prepare func(context.Context, *Environment) *export, sides func(*export) Sides) Row {
		return Row{
			ID: id, Name: name, Baseline: baseline, Unit: unit, Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				return sides(prepare(ctx, e))
			},
		}
	}
	compared := func(x *export) Sides { return Sides{Pnyx: x.compared, Baseline: x.written} }
	const file = "as many bytes written to a file"
	rows := []Row{
		row("export", "export of 900,000 ballots: a manifest and its parts, compressed", "the walk over pages of 500, compressed", "ballots/s",
			exportOfVote, func(x *export) Sides { return Sides{Pnyx: rate(x.parts), Baseline: rate(x.walk)} }),
		row("export-memory", "API node, resident memory that an export of 900,000 ballots adds", "", "MB",
			exportOfVote, func(x *export) Sides { return Sides{Pnyx: x.memory} }),
		row("export-vote", "export of 900,000 ballots, compared with the walk", file, "s", exportOfVote, compared),
		row("export-dao", "`pnyx serve`: export of a DAO of 5 million ballots (quick: 500,000), compared with the walk", file, "s", exportOfDAO, compared),
	}
	rows[0].Ratio, rows[0].Rounds = AtLeast(1.5), 3
	rows[1].Value, rows[1].Quick = AtMost(32), 0
	return rows
}

type export struct {
	environment *Environment
	node        *Process
	// base is the URL of the node, manifest the path of the parts, and votes are paths of the ballots.
	base, manifest string
	votes          []string
	// whole is set to walk all pages in a quick run, too.
	whole bool
	// sample is the text of a part, and size the length of all.
	sample []byte
	size   int
}

// exportOfVote waits for the sorted copy of the largest proposal, which parts are made from.
func exportOfVote(ctx context.Context, e *Environment) *export {
	base, node := e.API(ctx)
	largest := e.largestProposal(ctx)
	copied(ctx, e, largest)
	votes := "/v2/proposals/" + largest.Key + "/votes"
	return &export{environment: e, node: node, base: base, manifest: votes + "/export", votes: []string{votes}}
}

// exportOfDAO starts an instance with one DAO, and waits until its manifest is there.
func exportOfDAO(ctx context.Context, e *Environment) *export {
	size := Size{DAOs: 1, Proposals: 300, Ballots: 5_000_001, Largest: 900_000}
	if e.Quick {
		size.Ballots, size.Largest = 500_001, 90_000
	}
	data := ownData(ctx, e, size)
	s := e.serve(ctx, filepath.Dir(data.Warehouse))
	x := &export{environment: e, node: s.process, base: s.base}
	d := x.download()
	mustDo(d.pages(ctx, "/v2/proposals?flagged=true&limit=100", func(rows []json.RawMessage) (more bool, err error) {
		for _, row := range rows {
			var item governance.ProposalListItem
			err = errors.Join(err, json.Unmarshal(row, &item))
			x.votes = append(x.votes, "/v2/proposals/"+string(item.ProposalKey)+"/votes")
			x.manifest = "/v2/daos/" + url.PathEscape(item.Identity.DAOID) + "/export"
		}
		return true, err
	}))
	mustDo(s.process.until(ctx, func() error { // it is made from sorted copies, too
		began := time.Now()
		_, err := d.fetch(ctx, x.manifest)
		if err == nil {
			fmt.Fprintf(e.Log, "  the manifest took %.1f s\n", time.Since(began).Seconds())
		}
		return err
	}))
	return x
}

type download struct {
	environment *Environment
	base        string

	requests, bytes, ballots int
	power                    decimal.Decimal
	took                     time.Duration
}

func (x *export) download() *download { return &download{environment: x.environment, base: x.base} }

// begin removes all pages and parts from the shared Redis.
func (x *export) begin(ctx context.Context) *download {
	if x.environment.api == x.node {
		forgetPages(ctx, x.environment)
	}
	return x.download()
}

// fetch returns the text of an answer, which is sent compressed if it is long.
func (d *download) fetch(ctx context.Context, path string) ([]byte, error) {
	began := time.Now()
	defer func() { d.took += time.Since(began) }()
	header := d.environment.internal()
	header.Set("Accept-Encoding", "gzip")
	status, body, err := get(ctx, d.base+path, header)
	for range maxRetries {
		if err != nil || status != http.StatusServiceUnavailable {
			break
		}
		status, body, err = get(ctx, d.base+path, header)
	}
	if status == http.StatusGone {
		err = errGone
	} else if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.300s", path, status, body)
	}
	if err != nil {
		return nil, err
	}
	d.requests, d.bytes = d.requests+1, d.bytes+len(body)
	if !bytes.HasPrefix(body, []byte("\x1f\x8b")) { // it is short
		return body, nil
	}
	unzip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", path, err)
	}
	return io.ReadAll(unzip)
}

// count adds a row that may be a ballot, of a list or an export.
func (d *download) count(text []byte) error {
	var row struct {
		VotingPower string
		Ballot      *struct{ VotingPower string }
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	if row.Ballot != nil {
		row.VotingPower = row.Ballot.VotingPower
	}
	if row.VotingPower == "" {
		return nil
	}
	power, err := decimal.NewFromString(row.VotingPower)
	d.ballots, d.power = d.ballots+1, d.power.Add(power)
	return err
}

type manifest struct {
	Votes string
	Rows  governance.ExportRowCounts
	Parts []struct {
		Href    string
		Formats struct{ NDJSON string }
	}
}

// parts reads a manifest and its parts.
func (d *download) parts(ctx context.Context, path string, read func(text []byte) error) (found manifest, err error) {
	text, err := d.fetch(ctx, path)
	if err == nil {
		err = json.Unmarshal(text, &struct{ Data *manifest }{&found})
	}
	for _, part := range found.Parts {
		if err != nil {
			break
		}
		if text, err = d.fetch(ctx, cmp.Or(part.Href, part.Formats.NDJSON)); err == nil {
			err = read(text)
		}
	}
	return found, err
}

// pages reads a list, as long as its reader wants more.
func (d *download) pages(ctx context.Context, first string, read func(rows []json.RawMessage) (more bool, err error)) error {
	for path := first; ; {
		text, err := d.fetch(ctx, path)
		if err != nil {
			return err
		}
		var page struct {
			Data []json.RawMessage
			Meta struct{ Page struct{ NextCursor string } }
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		if more, err := read(page.Data); err != nil || !more || page.Meta.Page.NextCursor == "" {
			return err
		}
		path = first + "&cursor=" + url.QueryEscape(page.Meta.Page.NextCursor)
	}
}

// end prints what a download took.
func (d *download) end(what string) {
	fmt.Fprintf(d.environment.Log, "  %s: %d ballots with %s in %.1f s, %d requests, %.1f MB\n",
		what, d.ballots, d.power, d.took.Seconds(), d.requests, float64(d.bytes)/1e6)
}

// errGone is a part that is not available any more: a manifest follows.
var errGone = errors.New("a part is gone")

// parts downloads the whole export, and begins again where a part is gone, as clients do.
func (x *export) parts(ctx context.Context) (d *download, err error) {
	for range maxRetries {
		if d, err = x.tryParts(ctx); !errors.Is(err, errGone) {
			break
		}
		wait(time.Second)
	}
	return d, err
}

func (x *export) tryParts(ctx context.Context) (*download, error) {
	d := x.begin(ctx)
	x.node.resetPeakMemory()
	x.size = 0
	found, err := d.parts(ctx, x.manifest, func(text []byte) (err error) {
		for line := range bytes.Lines(text) {
			err = errors.Join(err, d.count(line))
		}
		x.sample, x.size = text, x.size+len(text)
		return err
	})
	if want := cmp.Or(found.Votes, strconv.Itoa(found.Rows.Ballots)); err == nil && want != strconv.Itoa(d.ballots) {
		err = fmt.Errorf("the parts have %d ballots, the manifest says %s", d.ballots, want)
	}
	d.end("export")
	fmt.Fprintf(x.environment.Log, "  %s: at most %.0f MB in memory\n", x.node.name, x.node.peakMemory()/1e6)
	return d, err
}

// walk reads the pages from the first to the last, or as many as a quick run walks for a rate.
func (x *export) walk(ctx context.Context) (d *download, err error) {
	d = x.begin(ctx)
	for _, votes := range x.votes {
		if err == nil {
			err = d.pages(ctx, votes+"?order=power&limit="+strconv.Itoa(maxPageSize), func(rows []json.RawMessage) (more bool, err error) {
				for _, row := range rows {
					err = errors.Join(err, d.count(row))
				}
				return x.whole || !x.environment.Quick || d.requests < walkedInQuick, err
			})
		}
	}
	d.end("walk")
	return d, err
}

func rate(download func(context.Context) (*download, error)) Measure {
	return func(ctx context.Context) float64 {
		d := must(download(ctx))
		return float64(d.ballots) / d.took.Seconds()
	}
}

// memory returns what an export adds to the resident memory of the node, in megabytes.
func (x *export) memory(ctx context.Context) float64 {
	x.node.resetPeakMemory()
	before := x.node.peakMemory()
	must(x.parts(ctx))
	return (x.node.peakMemory() - before) / 1e6
}

// compared returns the seconds that an export takes, whose ballots must equal the whole walk.
func (x *export) compared(ctx context.Context) float64 {
	exported := must(x.parts(ctx))
	x.whole = true
	walked, err := x.walk(ctx)
	if exported.ballots != walked.ballots || !exported.power.Equal(walked.power) {
		err = errors.Join(err, errors.New("the export differs from the walk"))
	}
	mustDo(err)
	return exported.took.Seconds()
}

// written writes as much text as the latest export had to a file, and returns the seconds.
func (x *export) written(context.Context) float64 {
	began := time.Now()
	file := must(os.Create(filepath.Join(x.environment.Dir, "export.ndjson")))
	defer os.Remove(file.Name())
	for left := x.size; left > 0; left -= len(x.sample) {
		must(file.Write(x.sample[:min(left, len(x.sample))]))
	}
	mustDo(errors.Join(file.Sync(), file.Close()))
	return time.Since(began).Seconds()
}
