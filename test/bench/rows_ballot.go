package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ballotRows measures how long a ballot takes from the start of its import to the summary.
// The first ballot on a large proposal after the start of a worker is counted with all
// others; later ones are counted with a range of voters.
func ballotRows() []Row {
	return []Row{
		{
			ID: "arrival", Name: "start of pnyx import → ballot in the vote summary over HTTP", Unit: "s",
			Value: AtMost(0.5), Rounds: 7, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				small, err := e.smallProposal(ctx)
				return Sides{Pnyx: func(ctx context.Context) (float64, error) { return arrivalMeter{e}.arrival(ctx, small) }}, err
			},
		},
		{
			ID: "incremental", Name: "ballot on the largest proposal → in its summary", Unit: "s",
			Baseline: "a plain statement that counts its ballots once", Value: AtMost(0.6), Rounds: 5, Quick: 2,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				largest, statement, err := arrivalMeter{e}.countOfLargest(ctx)
				return Sides{
					Pnyx:     func(ctx context.Context) (float64, error) { return arrivalMeter{e}.rangedArrival(ctx, largest) },
					Baseline: func(ctx context.Context) (float64, error) { return timeStatements(ctx, e.conn, statement) },
				}, err
			},
		},
		{
			ID: "incremental-stream", Name: "ballot on the largest proposal → in its summary, the slowest of 10 without a pause",
			Baseline: "the first ballot after a start of the worker, which is counted with all others", Unit: "s",
			Value: AtMost(1.2), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				largest, _, err := arrivalMeter{e}.countOfLargest(ctx)
				return Sides{
					Pnyx:     func(ctx context.Context) (float64, error) { return arrivalMeter{e}.slowestArrival(ctx, largest, 10) },
					Baseline: func(ctx context.Context) (float64, error) { return arrivalMeter{e}.firstArrival(ctx, largest) },
				}, err
			},
		},
	}
}

// arrivalMeter measures how soon ballots count.
type arrivalMeter struct{ *Environment }

// countOfLargest returns the largest proposal, and the statement that counts its ballots.
func (e arrivalMeter) countOfLargest(ctx context.Context) (Proposal, string, error) {
	if _, _, err := e.API(ctx); err != nil {
		return Proposal{}, "", err
	}
	largest, err := e.largestProposal(ctx)
	return largest, fmt.Sprintf(`SELECT choices, count(), sum(power) FROM latest_ballots WHERE proposal_ref =
		(SELECT proposal_ref FROM proposal_states FINAL WHERE proposal_key = '%s') GROUP BY choices FORMAT Null`, largest.Key), err
}

const (
	// recountsMetric counts the whole counts of proposals and DAOs by range, rangedMetric the
	// proposals of which single ranges were counted since, and publishedMetric is above zero
	// once the worker leads.
	recountsMetric  = "pnyx_publish_recount_duration_seconds_count"
	rangedMetric    = "pnyx_publish_ranged_total"
	publishedMetric = "pnyx_publish_sealed_through_timestamp_seconds"
)

// firstArrival restarts the worker and returns the seconds of the first ballot after it.
func (e arrivalMeter) firstArrival(ctx context.Context, p Proposal) (float64, error) {
	if err := e.worker.stop(); err != nil {
		return 0, err
	}
	e.worker = nil
	if err := e.Published(ctx); err != nil {
		return 0, err
	}
	if err := e.workerAbove(ctx, publishedMetric, 0); err != nil {
		return 0, err
	}
	return e.arrival(ctx, p)
}

// rangedAttempts is how many ballots may be counted with all others before one is counted with
// its range.
const rangedAttempts = 5

// rangedArrival returns the seconds of a ballot that is counted with its range of voters.
func (e arrivalMeter) rangedArrival(ctx context.Context, p Proposal) (float64, error) {
	for range rangedAttempts {
		recounts, errRecounts := e.workerMetric(ctx, recountsMetric)
		before, errBefore := e.workerMetric(ctx, rangedMetric)
		took, errArrival := e.arrival(ctx, p)
		after, errAfter := e.workerMetric(ctx, rangedMetric)
		if err := errors.Join(errRecounts, errBefore, errArrival, errAfter); err != nil || after > before {
			return took, err
		}
		if err := e.recounted(ctx, recounts); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("the worker has counted all ballots of the proposal")
}

// recounted waits until the worker has made more recounts than so many: one of a proposal, and
// one of its DAO if this is large.
func (e arrivalMeter) recounted(ctx context.Context, before float64) error {
	began := time.Now()
	if err := e.workerAbove(ctx, recountsMetric, before); err != nil {
		return err
	}
	// The worker rests for four times as long as the first count took.
	for longest := 10*time.Since(began) + time.Second; time.Since(began) < longest; wait(100 * time.Millisecond) {
		if recounts, err := e.workerMetric(ctx, recountsMetric); err != nil || recounts > before+1 {
			return err
		}
	}
	return nil
}

func (e arrivalMeter) slowestArrival(ctx context.Context, p Proposal, ballots int) (slowest float64, err error) {
	for range ballots {
		took, err := e.rangedArrival(ctx, p)
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, took)
	}
	return slowest, nil
}

// workerAbove waits until a metric of the worker is above a number.
func (e arrivalMeter) workerAbove(ctx context.Context, name string, number float64) error {
	return e.worker.until(ctx, func() error {
		value, err := e.workerMetric(ctx, name)
		if err == nil && value <= number {
			err = fmt.Errorf("%s is still %v", name, value)
		}
		return err
	})
}

// workerMetric returns a metric of the worker that has no labels.
func (e arrivalMeter) workerMetric(ctx context.Context, name string) (float64, error) {
	status, body, err := get(ctx, e.workerAdmin+"/metrics", nil)
	if err != nil || status != http.StatusOK {
		return 0, errors.Join(fmt.Errorf("metrics of the worker: status %d", status), err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(body))); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the worker has no metric %s", name)
}

// arrival imports a ballot of a new voter and returns the time until it is counted, in
// seconds. The time includes the start of the import command.
func (e arrivalMeter) arrival(ctx context.Context, p Proposal) (float64, error) {
	base, _, err := e.API(ctx)
	if err != nil {
		return 0, err
	}
	summary := base + "/v2/proposals/" + p.Key + "/votes/summary"
	before, err := e.votes(ctx, summary)
	if err != nil {
		return 0, err
	}
	began, err := e.importText(ctx, e.newBallot(p)+"\n", e.warehouseEnv(), 0)
	if err != nil {
		return 0, err
	}
	err = e.api.until(ctx, func() error {
		votes, err := e.votes(ctx, summary)
		if err == nil && votes <= before {
			err = errors.New("the ballot is not counted yet")
		}
		return err
	})
	return time.Since(began).Seconds(), err
}

// importText imports lines of a source file, and returns when that began.
func (e arrivalMeter) importText(ctx context.Context, lines string, environ []string, niceness int) (began time.Time, err error) {
	path := filepath.Join(e.Dir, "lines.ndjson")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		return began, err
	}
	began = time.Now()
	_, err = e.Run(ctx, Program{Args: []string{e.Pnyx, "import", path}, Env: environ, Nice: niceness})
	return began, err
}

// newBallot returns a ballot of a new voter in the format of Snapshot.
func (e arrivalMeter) newBallot(p Proposal) string {
	e.ballots++
	return snapshotBallot(p, strconv.FormatInt(time.Now().UnixNano()+int64(e.ballots), 16), 1)
}

// changedBallot returns the ballot of the same voter each time, with another power: the
// proposal changes, and gets no more ballots however often that is measured.
func (e arrivalMeter) changedBallot(p Proposal) string {
	e.ballots++
	return snapshotBallot(p, "c4a49ed", 1+e.ballots)
}

func snapshotBallot(p Proposal, name string, power int) string {
	return fmt.Sprintf(`{"id":"bench-%s","proposal":{"id":%q},"space":{"id":%q},"voter":"0x%s","created":%d,"choice":1,"vp":%d}`,
		name, p.ExternalID, p.Source, name, time.Now().Unix(), power)
}

// votes returns the number of votes in a summary.
func (e arrivalMeter) votes(ctx context.Context, summary string) (int, error) {
	status, body, err := get(ctx, summary, e.internal())
	if err != nil {
		return 0, err
	}
	var found struct {
		Data struct{ Held struct{ Votes string } } // totals may be upstream's
	}
	if err := json.Unmarshal(body, &found); err != nil || status != http.StatusOK {
		return 0, errors.Join(fmt.Errorf("%s answers %d: %.300s", summary, status, body), err)
	}
	return strconv.Atoi(found.Data.Held.Votes)
}
