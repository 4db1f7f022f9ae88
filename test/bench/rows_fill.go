package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// fillLength is how long distinct cold pages are requested for one figure.
const fillLength = 3 * time.Second

type coldKind struct {
	id, name string
	// paths is a statement that returns the paths of distinct pages.
	paths string
}

// coldKinds are the kinds whose pages are made in sets.
func coldKinds() []coldKind {
	return []coldKind{
		{"ballots", "first pages of small proposals' ballots", `SELECT concat('/v2/proposals/', proposal_key, '/votes?order=', place)
			FROM proposal_states FINAL ARRAY JOIN ['power', 'time'] AS place
			WHERE votes BETWEEN 1 AND 1000 AND dao_id != '' ORDER BY cityHash64(proposal_key, place)`},
		{"histories", "voters' histories", `SELECT concat('/v2/voters/', voter, '/votes')
			FROM ballots WHERE startsWith(voter, '0x') AND cityHash64(voter) % 10 = 3 LIMIT 1 BY voter LIMIT 20000`},
		{"profiles", "voters' profiles", `SELECT concat('/v2/voters/', voter)
			FROM ballots WHERE startsWith(voter, '0x') AND cityHash64(voter) % 10 = 4 LIMIT 1 BY voter LIMIT 20000`},
		{"lists", "filtered lists of proposals", `SELECT concat('/v2/proposals?daoId=', dao_id, '&lifecycleStatus=', state,
				'&timeField=createdAt&to=2026-05-01&from=', toString(toDate('2025-06-01') + day))
			FROM (SELECT DISTINCT dao_id, arrayJoin(range(300)) AS day FROM proposal_states FINAL WHERE dao_id != '')
			ARRAY JOIN ['active', 'closed'] AS state ORDER BY cityHash64(dao_id, day, state)`},
	}
}

// fillRows measure distinct cold pages of each kind with 1, 16 and 64 callers.
func fillRows() []Row {
	var rows []Row
	for _, kind := range coldKinds() {
		for _, callers := range []int{1, 16, 64} {
			row := Row{
				ID: fmt.Sprintf("fills-%s-%d", kind.id, callers), Name: fmt.Sprintf("distinct cold pages, %d callers: %s", callers, kind.name),
				Baseline: "plain Fiber handler, constant body", Unit: "requests/s", Rounds: 3,
				Prepare: func(ctx context.Context, e *Environment) Sides {
					return coldFills(ctx, e, kind, callers)
				},
			}
			if callers == connections {
				row.Value, row.Quick = AtLeast(800), 1
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// coldFills compares pages that are not in Redis, on merged tables, with a handler that returns as many bytes.
func coldFills(ctx context.Context, e *Environment, kind coldKind, callers int) Sides {
	load := coldLoadOf(ctx, e, kind)
	mergeParts(ctx, e, "ballots", "proposal_states")
	size := must(sizeOfAnswer(ctx, load.URLs[0], load.Header))
	baseline := FiberBaseline(ctx, e, size, "")
	measure := func(load Load, cold bool) Measure {
		return func(ctx context.Context) float64 {
			forgetPages(ctx, e)
			return closedLoad(ctx, e, load, callers, cold)
		}
	}
	plain := Load{URLs: []string{baseline}, Header: http.Header{}}
	return Sides{Pnyx: measure(load, true), Baseline: measure(plain, false)}
}

func mergeParts(ctx context.Context, e *Environment, tables ...string) {
	for _, table := range tables {
		mustDo(e.conn.Exec(ctx, "OPTIMIZE TABLE "+table+" FINAL SETTINGS optimize_skip_merged_partitions = 1"))
	}
}

// coldLoadOf returns requests for distinct pages of a kind.
func coldLoadOf(ctx context.Context, e *Environment, kind coldKind) (load Load) {
	base, _ := e.API(ctx)
	load.Header = e.internal()
	rows := must(e.conn.Query(ctx, kind.paths))
	defer rows.Close()
	for rows.Next() {
		var path string
		mustDo(rows.Scan(&path))
		load.URLs = append(load.URLs, base+path)
	}
	if err := rows.Err(); err != nil || len(load.URLs) == 0 {
		mustDo(errors.Join(fmt.Errorf("find pages of %s: got %d", kind.id, len(load.URLs)), err))
	}
	return load
}

// closedLoad returns the requests per second of callers. A cold load requests each page once.
func closedLoad(ctx context.Context, e *Environment, load Load, callers int, cold bool) float64 {
	drive := newDrive(load, callers)
	defer drive.close()
	drive.once = cold
	began := time.Now()
	taken, failed, err := drive.run(ctx, 0, fillLength)
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests failed, the first with %s", failed, *drive.failure.Load()))
	}
	took := time.Since(began)
	if cold {
		fmt.Fprintf(e.Log, "  %d pages: p50 %.1f, p99 %.1f, slowest %.1f ms\n", taken.TotalCount(),
			inMilliseconds(taken.ValueAtQuantile(50)), inMilliseconds(taken.ValueAtQuantile(99)), inMilliseconds(taken.Max()))
	}
	mustDo(err)
	return float64(taken.TotalCount()) / took.Seconds()
}
