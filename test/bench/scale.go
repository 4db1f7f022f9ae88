package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
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
	// Ballots, Proposals and DAOs are in the warehouse, and Largest is the ballots on the largest proposal.
	Ballots, Proposals, DAOs, Largest uint64
	// Import is the import rate on the largest proposal, in ballots per second.
	Import float64
	// Publish is the duration of a full publication, Statements the duration of reading the same rows once, in seconds.
	Publish, Statements float64
	// Small is the time until a ballot on a small proposal is in its summary, in seconds.
	Small float64
	// First is Small for the first ballot on the largest proposal, which is counted with all others, in seconds.
	First float64
	// Big is Small for later ballots, counted with a range. Slowest is the slowest, before the DAO has ranges.
	Big, Slowest float64
	// WorkerMemory is the worker's peak, RedisBytes and DiskBytes what Redis and warehouse take, in bytes.
	WorkerMemory, RedisBytes, DiskBytes float64
	// Pages has the latencies of each kind of page.
	Pages []PageTimes
}

// PageTimes holds the latencies of pages that are not in any cache, in milliseconds.
type PageTimes struct {
	Name string // of the list
	// Median and Slowest are over all pages of a walk, and Deepest is the last one.
	Median, Slowest, Deepest float64
}

// scaleCommand takes the same measurements at growing sizes and writes the curves.
func scaleCommand(args []string) {
	flags := flag.NewFlagSet("scale", flag.ExitOnError)
	root := flags.String("root", ".", "folder of the repository")
	dir := flags.String("data", "data/scale", "folder that keeps the warehouses between runs")
	docs := flags.String("docs", "test/results", "folder to write the documents to")
	sizes := flags.String("sizes", "1,5,20", "sizes to measure, in millions of ballots, growing")
	within := flags.Duration("within", 6*time.Hour, "longest duration; the sizes that were measured by then are written")
	mustDo(flags.Parse(args))
	pnyx := must(filepath.Abs(filepath.Join(*root, "bin", "pnyx")))
	*dir = must(filepath.Abs(*dir))
	// As in benchCommand.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	report := ScaleReport{Machine: thisMachine(*root), Began: time.Now()}
	var before *Dataset
	for size := range strings.SplitSeq(*sizes, ",") {
		millions, err := strconv.Atoi(size)
		if err != nil || millions < 1 {
			mustDo(fmt.Errorf("-sizes: %q is not a number of millions", size))
		}
		var point Point
		point, before = measureAt(ctx, pnyx, *dir, before, millions)
		report.Points = append(report.Points, point)
		mustDo(report.write(*docs))
	}
	report.Markdown(os.Stdout)
}

// bytesPerBallot is what a warehouse of copies takes at most on disk for each ballot.
const bytesPerBallot = 600

// checkSpace ends the run unless a folder has the space for a warehouse of some million ballots.
func checkSpace(dir string, millions int) {
	var disk syscall.Statfs_t
	mustDo(syscall.Statfs(dir, &disk))
	free, needed := int(disk.Bavail)*int(disk.Bsize), millions*1_000_000*bytesPerBallot //nolint:gosec // no disk is that large
	if free < needed {
		mustDo(fmt.Errorf("%s has %d GB free, %d GB are needed", dir, free/1e9, needed/1e9))
	}
}

// measureAt copies the previous warehouse, grows the copy to a size and measures it.
func measureAt(ctx context.Context, pnyx, dir string, before *Dataset, millions int) (p Point, data *Dataset) {
	e := newEnvironment(ctx, pnyx, dir, false, os.Stderr)
	fmt.Fprintf(e.Log, "%d million ballots\n", millions)
	defer func() { mustDo(e.Close()) }()
	data = grown(ctx, e, before, millions)
	e.data = data
	for _, step := range []func(context.Context, *Environment, *Point){
		measurePublish, measureSizes, measureArrivals, measurePages, measureImport, measureMemory,
	} {
		step(ctx, e, &p)
	}
	fmt.Fprintf(e.Log, "%+v\n", p)
	return p, data
}

// measurePublish times the first publication into an empty Redis.
func measurePublish(ctx context.Context, e *Environment, p *Point) {
	e.Warehouse(ctx)
	e.Redis(ctx)
	fmt.Fprintln(e.Log, "publishing everything")
	began := time.Now()
	e.Published(ctx)
	store := must(cache.Open(e.url, stopTimeout))
	defer store.Close()
	mustDo(e.worker.until(ctx, func() error { _, err := store.PublicationState(ctx); return err }))
	p.Publish = time.Since(began).Seconds()
	p.Statements = timeStatements(ctx, e.conn, readOnce()...)
}

func measureSizes(ctx context.Context, e *Environment, p *Point) {
	p.DiskBytes = float64(diskBytes(ctx, e))
	mustDo(e.conn.QueryRow(ctx, `SELECT sum(votes), count(), uniqExact(dao_id), max(votes) FROM proposal_states FINAL`).
		Scan(&p.Ballots, &p.Proposals, &p.DAOs, &p.Largest))
}

func measureArrivals(ctx context.Context, e *Environment, p *Point) {
	largest := e.largestProposal(ctx)
	p.Small = arrivals(ctx, e, e.smallProposal(ctx), arrivalRounds, arrival).Median
	// The worker that has published everything ends.
	p.WorkerMemory = e.worker.peakMemory()
	p.First = firstArrival(ctx, e, largest)
	ranged := arrivals(ctx, e, largest, rangedRounds, rangedArrival)
	p.Big, p.Slowest = ranged.Median, ranged.Max
}

// arrivalRounds is how many ballots' arrival is timed, and rangedRounds of those counted by range.
const (
	arrivalRounds = 3
	rangedRounds  = 9
)

// arrivals times the arrival of ballots on a proposal, one after the other.
func arrivals(ctx context.Context, e *Environment, proposal Proposal, rounds int, arrival func(context.Context, *Environment, Proposal) float64) Spread {
	times := make([]float64, rounds)
	for n := range times {
		times[n] = arrival(ctx, e, proposal)
	}
	return spreadOf(times)
}

const importedBallots = 50_000

// measureImport imports ballots on the largest proposal, where each is compared with the most others.
func measureImport(ctx context.Context, e *Environment, p *Point) {
	largest := e.largestProposal(ctx)
	var lines strings.Builder
	now := time.Now().UnixNano()
	for i := range importedBallots {
		fmt.Fprintln(&lines, snapshotBallot(largest, fmt.Sprintf("%040x", now+int64(i)), 1))
	}
	began := importText(ctx, e, lines.String(), e.warehouseEnv(), 0)
	p.Import = importedBallots / time.Since(began).Seconds()
}

// measureMemory reads peak memory, so it runs after all other measurements.
func measureMemory(ctx context.Context, e *Environment, p *Point) {
	p.WorkerMemory = max(p.WorkerMemory, e.worker.peakMemory())
	p.RedisBytes = redisMemory(ctx, e)
}

const walkPages = 20

func measurePages(ctx context.Context, e *Environment, p *Point) {
	largest := e.largestProposal(ctx)
	var dao string
	mustDo(e.conn.QueryRow(ctx, "SELECT dao_id FROM proposal_states FINAL GROUP BY dao_id ORDER BY sum(votes) DESC LIMIT 1").
		Scan(&dao))
	for _, list := range []struct{ name, path string }{
		{"ballots of the largest proposal, by power", "/v2/proposals/" + largest.Key + "/votes?limit=500"},
		{"ballots of the largest proposal, by time", "/v2/proposals/" + largest.Key + "/votes?order=time&limit=500"},
		{"list of proposals, filtered", "/v2/proposals?outcome=failed,unknown&sort=createdDesc&limit=100"},
		{"ranking of the largest DAO", "/v2/daos/" + dao + "/voters?limit=100"},
	} {
		times := walkList(ctx, e, list.path)
		spread := spreadOf(times)
		p.Pages = append(p.Pages, PageTimes{list.name, spread.Median, spread.Max, times[len(times)-1]})
	}
}

// walkList reads pages one after the other and returns the milliseconds of each.
func walkList(ctx context.Context, e *Environment, path string) (times []float64) {
	base, _ := e.API(ctx)
	// The sorted copies that large pages are read from are built after the publication.
	mustDo(e.worker.until(ctx, func() error { _, err := sizeOfAnswer(ctx, base+path, e.internal()); return err }))
	cursor := ""
	for range walkPages {
		began := time.Now()
		body := must(fetch(ctx, base+path+cursor, e.internal()))
		times = append(times, milliseconds(time.Since(began)))
		var answer struct {
			Meta struct{ Page struct{ NextCursor *string } }
		}
		mustDo(json.Unmarshal(body, &answer))
		if answer.Meta.Page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *answer.Meta.Page.NextCursor
	}
	return slices.Clip(times)
}
