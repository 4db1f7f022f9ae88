package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ballotRows measures how long a ballot takes from the start of its import to the summary. The first one on a
// large proposal is counted with all others; later ones with a range of voters.
func ballotRows() []Row {
	return []Row{
		{
			ID: "arrival", Name: "start of pnyx import → ballot in the vote summary over HTTP", Unit: "s",
			Value: AtMost(0.5), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				small := e.smallProposal(ctx)
				return Sides{Pnyx: func(ctx context.Context) float64 { return arrival(ctx, e, small) }}
			},
		},
		{
			ID: "incremental", Name: "ballot on the largest proposal → in its summary", Unit: "s",
			Baseline: "a plain statement that counts its ballots once", Value: AtMost(0.6), Rounds: 5, Quick: 2,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				largest, statement := countOfLargest(ctx, e)
				return Sides{
					Pnyx:     func(ctx context.Context) float64 { return rangedArrival(ctx, e, largest) },
					Baseline: func(ctx context.Context) float64 { return timeStatements(ctx, e.conn, statement) },
				}
			},
		},
		{
			ID: "incremental-stream", Name: "ballot on the largest proposal → in its summary, the slowest of 10 without a pause",
			Baseline: "the first ballot after a start of the worker, which is counted with all others", Unit: "s",
			Value: AtMost(1.2), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				largest, _ := countOfLargest(ctx, e)
				return Sides{
					Pnyx:     func(ctx context.Context) float64 { return arrivals(ctx, e, largest, 10, rangedArrival).Max },
					Baseline: func(ctx context.Context) float64 { return firstArrival(ctx, e, largest) },
				}
			},
		},
	}
}

// countOfLargest returns the largest proposal, and the statement that counts its ballots.
func countOfLargest(ctx context.Context, e *Environment) (Proposal, string) {
	e.API(ctx)
	largest := e.largestProposal(ctx)
	return largest, fmt.Sprintf(`SELECT choices, count(), sum(power) FROM latest_ballots WHERE proposal_ref =
		(SELECT proposal_ref FROM proposal_states FINAL WHERE proposal_key = '%s') GROUP BY choices FORMAT Null`, largest.Key)
}

const (
	// recountsMetric counts whole counts, rangedMetric proposals of which single ranges were counted since, and
	// publishedMetric is above zero once the worker leads.
	recountsMetric  = "pnyx_publish_recount_duration_seconds_count"
	rangedMetric    = "pnyx_publish_ranged_total"
	publishedMetric = "pnyx_publish_sealed_through_timestamp_seconds"
)

// firstArrival restarts the worker and returns the seconds of the first ballot after it.
func firstArrival(ctx context.Context, e *Environment, p Proposal) float64 {
	mustDo(e.worker.stop())
	e.worker = nil
	e.Published(ctx)
	workerAbove(ctx, e, publishedMetric, 0)
	return arrival(ctx, e, p)
}

// rangedAttempts is how many ballots may be counted whole before one is counted with its range.
const rangedAttempts = 5

// rangedArrival returns the seconds of a ballot that is counted with its range of voters.
func rangedArrival(ctx context.Context, e *Environment, p Proposal) float64 {
	for range rangedAttempts {
		recounts, before := must(workerMetric(ctx, e, recountsMetric)), must(workerMetric(ctx, e, rangedMetric))
		took := arrival(ctx, e, p)
		if must(workerMetric(ctx, e, rangedMetric)) > before {
			return took
		}
		recounted(ctx, e, recounts)
	}
	mustDo(errors.New("the worker has counted all ballots of the proposal"))
	return 0
}

// recounted waits for more recounts than before: one of a proposal, and one of its DAO if this is large.
func recounted(ctx context.Context, e *Environment, before float64) {
	began := time.Now()
	workerAbove(ctx, e, recountsMetric, before)
	// The worker rests for four times as long as the first count took.
	for longest := 10*time.Since(began) + time.Second; time.Since(began) < longest; wait(100 * time.Millisecond) {
		if must(workerMetric(ctx, e, recountsMetric)) > before+1 {
			return
		}
	}
}

// workerAbove waits until a metric of the worker is above a number.
func workerAbove(ctx context.Context, e *Environment, name string, number float64) {
	mustDo(e.worker.until(ctx, func() error {
		value, err := workerMetric(ctx, e, name)
		if err == nil && value <= number {
			err = fmt.Errorf("%s is still %v", name, value)
		}
		return err
	}))
}

// workerMetric returns a metric of the worker that has no labels.
func workerMetric(ctx context.Context, e *Environment, name string) (float64, error) {
	body, err := fetch(ctx, e.workerAdmin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(strings.NewReader(string(body))); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the worker has no metric %s", name)
}

// arrival imports a ballot of a new voter and returns the seconds from the import command until it is counted.
func arrival(ctx context.Context, e *Environment, p Proposal) float64 {
	base, _ := e.API(ctx)
	summary := base + "/v2/proposals/" + p.Key + "/votes/summary"
	before := must(votes(ctx, e, summary))
	began := importText(ctx, e, newBallot(e, p)+"\n", e.warehouseEnv(), 0)
	mustDo(e.api.until(ctx, func() error {
		votes, err := votes(ctx, e, summary)
		if err == nil && votes <= before {
			err = errors.New("the ballot is not counted yet")
		}
		return err
	}))
	return time.Since(began).Seconds()
}

// importText imports lines of a source file, and returns when that began.
func importText(ctx context.Context, e *Environment, lines string, environ []string, niceness int) (began time.Time) {
	path := filepath.Join(e.Dir, "lines.ndjson")
	mustDo(os.WriteFile(path, []byte(lines), 0o600))
	began = time.Now()
	must(e.Run(ctx, Program{Args: []string{e.Pnyx, "import", path}, Env: environ, Nice: niceness}))
	return began
}

// newBallot returns a ballot of a new voter in the format of Snapshot.
func newBallot(e *Environment, p Proposal) string {
	e.ballots++
	return snapshotBallot(p, strconv.FormatInt(time.Now().UnixNano()+int64(e.ballots), 16), 1)
}

// changedBallot returns a ballot of the same voter with another power: the proposal gets no more ballots.
func changedBallot(e *Environment, p Proposal) string {
	e.ballots++
	return snapshotBallot(p, "c4a49ed", 1+e.ballots)
}

func snapshotBallot(p Proposal, name string, power int) string {
	return fmt.Sprintf(`{"id":"bench-%s","proposal":{"id":%q},"space":{"id":%q},"voter":"0x%s","created":%d,"choice":1,"vp":%d}`,
		name, p.ExternalID, p.Source, name, time.Now().Unix(), power)
}

func votes(ctx context.Context, e *Environment, summary string) (int, error) {
	var found struct {
		Data struct{ Held struct{ Votes string } } // totals may be upstream's
	}
	if err := read(ctx, summary, e.internal(), &found); err != nil {
		return 0, err
	}
	return strconv.Atoi(found.Data.Held.Votes)
}
