package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// A figure of a walk is over so many pages: the next ones from where the last figure ended.
const (
	shortWalk = 20
	longWalk  = 200
)

const maxPageSize = 500

// pageRows measures pages that no cache can have, from anywhere in the largest proposal.
func pageRows() []Row {
	rows := []Row{}
	for _, order := range []string{"power", "time"} {
		rows = append(rows, Row{
			ID: "cold-" + order, Name: "cold page of 500 ballots out of 900,000, by " + order + ": the slowest of 20",
			Baseline: "a plain statement on the sorted copy", Unit: "ms",
			Value: AtMost(50), Rounds: 90, Quick: 8,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				walk := newWalk(ctx, e, order, shortWalk, 1)
				return Sides{Pnyx: walk.pages, Baseline: walk.statements}
			},
		})
		for id, figure := range map[string]struct {
			name     string
			quantile float64
			most     float64
		}{"p50": {"the median", 0.5, 15}, "slowest": {"the slowest", 1, 40}} {
			rows = append(rows, Row{
				ID:       "deep-" + order + "-" + id,
				Name:     "cold page of 500 ballots out of 900,000 from anywhere, by " + order + ": " + figure.name + " of 200",
				Baseline: "a plain statement on the sorted copy", Unit: "ms", Value: AtMost(figure.most), Rounds: 9, Quick: 1,
				Prepare: func(ctx context.Context, e *Environment) Sides {
					return randomPages(ctx, e, order, longWalk, figure.quantile)
				},
			})
		}
	}
	return rows
}

// newWalk reads the ballots of the largest proposal, over and over. A figure is a quantile of pages.
func newWalk(ctx context.Context, e *Environment, order string, pages int, quantile float64) *walk {
	base, _ := e.API(ctx)
	largest := e.largestProposal(ctx)
	return &walk{
		environment: e, order: order, generation: copied(ctx, e, largest), count: pages, quantile: quantile,
		path: fmt.Sprintf("%s/v2/proposals/%s/votes?order=%s&limit=%d", base, largest.Key, order, maxPageSize),
	}
}

// randomPages reads pages of a walk in random order, none of them stored.
func randomPages(ctx context.Context, e *Environment, order string, pages int, quantile float64) Sides {
	walk := newWalk(ctx, e, order, pages, quantile)
	var cursors []string
	return Sides{Pnyx: func(ctx context.Context) float64 {
		for len(cursors) < pages*apart { // in the first round alone
			walk.page(ctx)
			cursors = append(cursors, walk.cursor)
		}
		walk.ends = nil
		forgetPages(ctx, e)
		first := rand.IntN(apart) //nolint:gosec // not secret
		took := make([]time.Duration, 0, pages)
		for _, i := range rand.Perm(pages) { //nolint:gosec // not secret
			walk.cursor = cursors[i*apart+first]
			took = append(took, walk.page(ctx))
		}
		return walk.figure(took)
	}, Baseline: walk.statements}
}

// apart is how many pages of a walk there are for each that is read at random.
const apart = 7

// copied waits for the sorted copy of a proposal's ballots.
func copied(ctx context.Context, e *Environment, p Proposal) (generation uint64) {
	_, conn := e.Warehouse(ctx)
	mustDo(e.worker.until(ctx, func() error {
		err := conn.QueryRow(ctx, "SELECT max(generation) FROM sorted_copies WHERE kind = 'ballots' AND subject = $1", p.Key).Scan(&generation)
		if err != nil || generation == 0 {
			return errors.Join(fmt.Errorf("the ballots of %s are not copied yet", p.Key), err)
		}
		return nil
	}))
	return generation
}

type walk struct {
	environment *Environment
	order, path string
	// count is the number of pages of one figure, and quantile the share of them that is not slower.
	count      int
	quantile   float64
	generation uint64
	cursor     string // a parameter; empty for the first page
	// ends are the last rows of the latest pages. The plain statements start after them.
	ends []pageEnd
}

type pageEnd struct {
	VoterIdentity string  `json:"voterIdentity"`
	VotingPower   string  `json:"votingPower"`
	VotedAt       *string `json:"votedAt"`
}

// forgetPages removes the pages made on demand from Redis, once nothing else runs in the warehouse: sorting copies
// would disturb what is measured next.
func forgetPages(ctx context.Context, e *Environment) {
	e.settled(ctx)
	keys := e.store.Scan(ctx, 0, "pnyx:*:view:page:*", 1000).Iterator()
	for keys.Next(ctx) {
		mustDo(e.store.Unlink(ctx, keys.Val()).Err())
	}
	mustDo(keys.Err())
}

// pages reads the next pages and returns the quantile of their latencies, in milliseconds.
func (k *walk) pages(ctx context.Context) float64 {
	k.ends = nil
	took := make([]time.Duration, k.count)
	for i := range took {
		took[i] = k.page(ctx)
	}
	return k.figure(took)
}

// figure returns the quantile of durations, in milliseconds.
func (k *walk) figure(took []time.Duration) float64 {
	slices.Sort(took)
	return milliseconds(took[int(k.quantile*float64(len(took)-1))])
}

func (k *walk) page(ctx context.Context) time.Duration {
	if k.cursor == "" {
		forgetPages(ctx, k.environment)
	}
	began := time.Now()
	body := must(fetch(ctx, k.path+k.cursor, k.environment.internal()))
	took := time.Since(began)
	var page struct {
		Data []pageEnd
		Meta struct{ Page struct{ NextCursor string } }
	}
	mustDo(json.Unmarshal(body, &page))
	k.cursor = ""
	if next := page.Meta.Page.NextCursor; next != "" {
		k.cursor = "&cursor=" + url.QueryEscape(next)
		k.ends = append(k.ends, page.Data[len(page.Data)-1])
	}
	return took
}

// statements reads the same pages with plain statements, and returns the quantile in milliseconds.
func (k *walk) statements(ctx context.Context) float64 {
	ends := k.ends
	if len(ends) == 0 {
		ends = []pageEnd{{VotingPower: "1000000000000"}}
	}
	took := make([]time.Duration, len(ends))
	for i, end := range ends {
		began := time.Now()
		k.statement(ctx, end)
		took[i] = time.Since(began)
	}
	return k.figure(took)
}

func (k *walk) statement(ctx context.Context, t pageEnd) {
	column, value := "power", "toDecimal256({value:String}, 18)"
	text := t.VotingPower
	if k.order == "time" {
		column, value, text = "voted_at", "parseDateTime64BestEffort({value:String}, 3, 'UTC')", "2200-01-01"
		if t.VotedAt != nil {
			text = *t.VotedAt
		}
	}
	rows := must(k.environment.conn.Query(ctx, fmt.Sprintf(`SELECT voter, vote_id, choice_key, raw_choice, toString(power), voted_at, tx_hash
		FROM sorted_ballots WHERE generation = {generation:UInt64} AND %[1]s < %[2]s ORDER BY %[1]s DESC, voter DESC LIMIT %[3]d`,
		column, value, maxPageSize+1), clickhouse.Named("generation", k.generation), clickhouse.Named("value", text)))
	defer rows.Close()
	var voter, vote, choice, raw, power, hash string
	var at time.Time
	for rows.Next() {
		mustDo(rows.Scan(&voter, &vote, &choice, &raw, &power, &at, &hash))
	}
	mustDo(rows.Err())
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
