package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pnyx/cache"
)

// Point holds the measurements at one size of the warehouse.
type Point struct {
	// Ballots is the number of ballots in the warehouse.
	Ballots uint64
	// Proposals is the number of proposals.
	Proposals uint64
	// DAOs is the number of DAOs.
	DAOs uint64
	// Largest is the number of ballots on the largest proposal.
	Largest uint64
	// Import is the import rate on the largest proposal, in ballots per second.
	Import float64
	// Publish is the duration of a full publication, in seconds.
	Publish float64
	// Statements is the duration of the statements that read the same rows once, in
	// seconds.
	Statements float64
	// Small is the time until a ballot on a small proposal is in its summary, in seconds.
	Small float64
	// Big is the same for the largest proposal, in seconds.
	Big float64
	// WorkerMemory is the peak resident memory of the worker, in bytes.
	WorkerMemory float64
	// RedisBytes is the memory that Redis uses, in bytes.
	RedisBytes float64
	// DiskBytes is the disk space that the warehouse uses, in bytes.
	DiskBytes float64
	// Pages has the latencies of each kind of page.
	Pages []PageTimes
}

// PageTimes holds the latencies of pages that are not in any cache, in milliseconds.
type PageTimes struct {
	// Name describes the list that the pages belong to.
	Name string
	// Median is the median over all pages of the walk.
	Median float64
	// Slowest is the maximum over all pages of the walk.
	Slowest float64
	// Deepest is the latency of the last page of the walk.
	Deepest float64
}

// scaleCommand takes the same measurements at growing sizes of the warehouse and
// writes the curves.
func scaleCommand(args []string) error {
	flags := flag.NewFlagSet("scale", flag.ExitOnError)
	root := flags.String("root", ".", "folder of the repository")
	dir := flags.String("data", "data/scale", "folder that keeps the warehouses between runs")
	docs := flags.String("docs", "docs", "folder to write the documents to")
	sizes := flags.String("sizes", "1,5,20", "sizes to measure, in millions of ballots, growing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pnyx, err := filepath.Abs(filepath.Join(*root, "bin", "pnyx"))
	if err != nil {
		return err
	}
	if *dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	// As in benchCommand.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	report := ScaleReport{Machine: thisMachine(*root), Began: time.Now()}
	var before *Dataset
	for size := range strings.SplitSeq(*sizes, ",") {
		millions, err := strconv.Atoi(size)
		if err != nil || millions < 1 {
			return fmt.Errorf("-sizes: %q is not a number of millions", size)
		}
		point, data, err := measureAt(ctx, pnyx, *dir, before, millions)
		if err != nil {
			return fmt.Errorf("%d million ballots: %w", millions, err)
		}
		report.Points, before = append(report.Points, point), data
		if err := report.write(*docs); err != nil {
			return err
		}
	}
	report.Markdown(os.Stdout)
	return nil
}

// measureAt copies the previous warehouse, grows the copy to a size and measures it.
func measureAt(ctx context.Context, pnyx, dir string, before *Dataset, millions int) (p Point, data *Dataset, err error) {
	w, err := newWorld(ctx, pnyx, dir, false, os.Stderr)
	if err != nil {
		return p, nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if data, err = w.grown(ctx, before, millions); err != nil {
		return p, nil, err
	}
	w.data = data
	for _, step := range []func(context.Context, *Point) error{
		w.measurePublish, w.measureSizes, w.measureArrivals, w.measurePages, w.measureImport, w.measureMemory,
	} {
		if err := step(ctx, &p); err != nil {
			return p, data, err
		}
	}
	fmt.Fprintf(w.Log, "%+v\n", p)
	return p, data, nil
}

// measurePublish times the first publication into an empty Redis.
func (w *World) measurePublish(ctx context.Context, p *Point) error {
	if _, _, err := w.Warehouse(ctx); err != nil {
		return err
	}
	if _, err := w.Redis(ctx); err != nil {
		return err
	}
	fmt.Fprintln(w.Log, "publishing everything")
	began := time.Now()
	if err := w.Published(ctx); err != nil {
		return err
	}
	store, err := cache.Open(w.url, stopTimeout)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := w.worker.until(ctx, func() error { _, err := store.PublicationState(ctx); return err }); err != nil {
		return err
	}
	p.Publish = time.Since(began).Seconds()
	p.Statements, err = timed(ctx, w.conn, readOnce()...)
	return err
}

// measureSizes counts the ballots, proposals and DAOs in the warehouse.
func (w *World) measureSizes(ctx context.Context, p *Point) error {
	err := w.conn.QueryRow(ctx, `SELECT sum(votes), count(), uniqExact(dao_id), max(votes) FROM proposal_states FINAL`).
		Scan(&p.Ballots, &p.Proposals, &p.DAOs, &p.Largest)
	if err != nil {
		return err
	}
	return w.conn.QueryRow(ctx, "SELECT toFloat64(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = currentDatabase()").
		Scan(&p.DiskBytes)
}

func (w *World) measureArrivals(ctx context.Context, p *Point) error {
	small, err := w.smallProposal(ctx)
	if err != nil {
		return err
	}
	largest, err := w.largestProposal(ctx)
	if err != nil {
		return err
	}
	if p.Small, err = w.medianArrival(ctx, small); err != nil {
		return err
	}
	p.Big, err = w.medianArrival(ctx, largest)
	return err
}

// arrivals is the number of ballots whose arrival is timed.
const arrivals = 3

func (w *World) medianArrival(ctx context.Context, proposal Proposal) (float64, error) {
	var times []float64
	for range arrivals {
		took, err := w.arrival(ctx, proposal)
		if err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	return spreadOf(times).Median, nil
}

// probe is the number of ballots imported at each size.
const probe = 50_000

// measureImport imports ballots of new voters on the largest proposal, where each new
// ballot is compared with the most existing ones.
func (w *World) measureImport(ctx context.Context, p *Point) error {
	largest, err := w.largestProposal(ctx)
	if err != nil {
		return err
	}
	var lines strings.Builder
	now := time.Now()
	for i := range probe {
		id := now.UnixNano() + int64(i)
		fmt.Fprintf(&lines, `{"id":"probe-%d","proposal":{"id":%q},"space":{"id":%q},"voter":"0x%040x","created":%d,"choice":1,"vp":1}`+"\n",
			id, largest.ExternalID, largest.Source, id, now.Unix())
	}
	path := filepath.Join(w.Dir, "probe.ndjson")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		return err
	}
	began := time.Now()
	_, err = w.Run(ctx, Program{Args: []string{w.Pnyx, "import", path}, Env: w.warehouseEnv()})
	p.Import = probe / time.Since(began).Seconds()
	return err
}

// measureMemory reads peak memory, so it runs after all other measurements.
func (w *World) measureMemory(ctx context.Context, p *Point) (err error) {
	if p.WorkerMemory, err = w.worker.peakMemory(); err != nil {
		return err
	}
	text, err := w.store.Info(ctx, "memory").Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if used, found := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); found {
			p.RedisBytes, err = strconv.ParseFloat(used, 64)
		}
	}
	return err
}

// pagesDeep is the number of pages that a walk reads.
const pagesDeep = 20

func (w *World) measurePages(ctx context.Context, p *Point) error {
	largest, err := w.largestProposal(ctx)
	if err != nil {
		return err
	}
	var dao string
	if err := w.conn.QueryRow(ctx, "SELECT dao_id FROM proposal_states FINAL GROUP BY dao_id ORDER BY sum(votes) DESC LIMIT 1").
		Scan(&dao); err != nil {
		return err
	}
	for _, list := range []struct{ name, path string }{
		{"ballots of the largest proposal, by power", "/v2/proposals/" + largest.Key + "/votes?limit=500"},
		{"ballots of the largest proposal, by time", "/v2/proposals/" + largest.Key + "/votes?order=time&limit=500"},
		{"list of proposals, filtered", "/v2/proposals?outcome=failed,unknown&sort=createdDesc&limit=100"},
		{"ranking of the largest DAO", "/v2/daos/" + dao + "/voters?limit=100"},
	} {
		times, err := w.walkList(ctx, list.path)
		if err != nil {
			return err
		}
		spread := spreadOf(times)
		p.Pages = append(p.Pages, PageTimes{list.name, spread.Median, spread.Max, times[len(times)-1]})
	}
	return nil
}

// walkList reads pages one after the other and returns the milliseconds of each.
func (w *World) walkList(ctx context.Context, path string) (times []float64, err error) {
	base, _, err := w.API(ctx)
	if err != nil {
		return nil, err
	}
	// The sorted copies that large pages are read from are built after the publication.
	if err := w.worker.until(ctx, func() error { _, err := sizeOfAnswer(ctx, base+path, w.internal()); return err }); err != nil {
		return nil, err
	}
	cursor := ""
	for range pagesDeep {
		began := time.Now()
		status, body, err := get(ctx, base+path+cursor, w.internal())
		took := milliseconds(time.Since(began))
		var answer struct {
			Meta struct{ Page struct{ NextCursor *string } }
		}
		if err := errors.Join(err, json.Unmarshal(body, &answer)); err != nil || status != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("%s answers %d: %.300s", path, status, body), err)
		}
		times = append(times, took)
		if answer.Meta.Page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *answer.Meta.Page.NextCursor
	}
	return slices.Clip(times), nil
}
