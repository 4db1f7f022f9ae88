package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"pnyx/governance"
)

const (
	// walkedInQuick is how many pages of the baseline a quick run walks. A full one walks all.
	walkedInQuick = 200
	// maxRetries bounds how often an answer is asked for that a busy machine did not make in
	// time.
	maxRetries = 5
)

// exportRows measure the download of all ballots of the largest proposal.
func exportRows() []Row {
	return []Row{
		{
			ID: "export", Name: "export of 900,000 ballots: a manifest and its parts, compressed", Baseline: "the walk over pages of 500, compressed",
			Unit: "ballots/s", Ratio: AtLeast(1.5), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				x, err := e.export(ctx)
				return Sides{Pnyx: x.parts, Baseline: x.walk}, err
			},
		},
		{
			ID: "export-memory", Name: "API node, resident memory that an export of 900,000 ballots adds", Unit: "MB",
			Value: AtMost(32), Rounds: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				x, err := e.export(ctx)
				return Sides{Pnyx: x.memory}, err
			},
		},
	}
}

// export downloads the ballots of a proposal.
type export struct {
	environment *Environment
	node        *Process
	// base is the URL of the node, and votes the path of the ballots.
	base, votes string
}

// export waits for the sorted copy of the largest proposal, which parts are made from.
func (e *Environment) export(ctx context.Context) (*export, error) {
	base, node, err := e.API(ctx)
	if err != nil {
		return nil, err
	}
	largest, err := e.largestProposal(ctx)
	if err != nil {
		return nil, err
	}
	_, err = e.copied(ctx, largest)
	return &export{e, node, base, "/v2/proposals/" + largest.Key + "/votes"}, err
}

// download counts what a download takes.
type download struct {
	*export

	requests, bytes, ballots int
	began                    time.Time
}

// begin removes all pages and parts from Redis.
func (x *export) begin(ctx context.Context) (*download, error) {
	err := x.environment.forgetPages(ctx)
	return &download{export: x, began: time.Now()}, err
}

// fetch returns the text of an answer, which is sent compressed.
func (d *download) fetch(ctx context.Context, path string) ([]byte, error) {
	header := d.environment.internal()
	header.Set("Accept-Encoding", "gzip")
	status, body, err := get(ctx, d.base+path, header)
	for range maxRetries {
		if err != nil || status != http.StatusServiceUnavailable {
			break
		}
		status, body, err = get(ctx, d.base+path, header)
	}
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d: %.300s", path, status, body)
	}
	d.requests++
	d.bytes += len(body)
	unzip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", path, err)
	}
	return io.ReadAll(unzip)
}

// end returns the ballots per second.
func (d *download) end(what string) float64 {
	took := time.Since(d.began)
	fmt.Fprintf(d.environment.Log, "  %s: %d ballots in %.1f s, %d requests, %.1f MB\n",
		what, d.ballots, took.Seconds(), d.requests, float64(d.bytes)/1e6)
	return float64(d.ballots) / took.Seconds()
}

// parts downloads the whole export.
func (x *export) parts(ctx context.Context) (float64, error) {
	d, err := x.begin(ctx)
	if err != nil {
		return 0, err
	}
	text, err := d.fetch(ctx, x.votes+"/export")
	if err != nil {
		return 0, err
	}
	var manifest struct{ Data governance.BallotExport }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return 0, fmt.Errorf("read the manifest: %w", err)
	}
	for _, part := range manifest.Data.Parts {
		if text, err = d.fetch(ctx, part.Href); err != nil {
			return 0, err
		}
		d.ballots += bytes.Count(text, []byte("\n"))
	}
	if votes := string(manifest.Data.Votes); votes != strconv.Itoa(d.ballots) {
		return 0, fmt.Errorf("the parts have %d ballots, the manifest says %s", d.ballots, votes)
	}
	return d.end("export"), nil
}

// walk reads the pages from the first to the last, or as many as a quick run walks.
func (x *export) walk(ctx context.Context) (float64, error) {
	d, err := x.begin(ctx)
	if err != nil {
		return 0, err
	}
	first := x.votes + "?order=power&limit=" + strconv.Itoa(maxPageSize)
	for path := first; path != ""; {
		text, err := d.fetch(ctx, path)
		if err != nil {
			return 0, err
		}
		var page struct {
			Data []json.RawMessage
			Meta struct{ Page struct{ NextCursor string } }
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return 0, fmt.Errorf("read a page: %w", err)
		}
		d.ballots += len(page.Data)
		path = first + "&cursor=" + url.QueryEscape(page.Meta.Page.NextCursor)
		if page.Meta.Page.NextCursor == "" || x.environment.Quick && d.requests == walkedInQuick {
			path = ""
		}
	}
	return d.end("walk"), nil
}

// memory returns what an export adds to the resident memory of the node, in megabytes.
func (x *export) memory(ctx context.Context) (float64, error) {
	if err := x.node.resetPeakMemory(); err != nil {
		return 0, err
	}
	before, err := x.node.peakMemory()
	if err != nil {
		return 0, err
	}
	if _, err := x.parts(ctx); err != nil {
		return 0, err
	}
	after, err := x.node.peakMemory()
	return (after - before) / 1e6, err
}
