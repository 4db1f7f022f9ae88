package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pnyx/governance"
	"pnyx/ratelimit"
)

// mirrorRows compute from counted requests how long plans take for a mirror of the demonstration.
func mirrorRows() []Row {
	row := func(plan ratelimit.Plan, most float64) Row {
		return Row{
			ID: "mirror-" + string(plan), Name: fmt.Sprintf("mirror of the demonstration on the plan %s, by exports", plan),
			Baseline: "by lists, at least", Unit: "minutes", Value: AtMost(most), Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides { return mirroring(ctx, e, plan) },
		}
	}
	return []Row{row(ratelimit.Developer, 24*60), row(ratelimit.Business, 5)}
}

// mirroring counts the requests of routes of tier plus: of an export, or of lists and details.
func mirroring(ctx context.Context, e *Environment, plan ratelimit.Plan) Sides {
	s := e.serve(ctx, e.temporary("mirror-"), "--demo")
	free, paid, lists := &download{environment: e, base: s.base}, &download{environment: e, base: s.base}, 0
	mustDo(free.pages(ctx, "/v2/daos?limit=100", func(rows []json.RawMessage) (more bool, err error) {
		for _, row := range rows {
			var dao governance.DAOListItem
			err = errors.Join(err, json.Unmarshal(row, &dao))
			found, failed := paid.parts(ctx, "/v2/daos/"+dao.DAOID+"/export", func([]byte) error { return nil })
			err = errors.Join(err, failed)
			lists += 2*found.Rows.Proposals + found.Rows.Topics + max(found.Rows.Proposals, found.Rows.Ballots/maxPageSize)
		}
		return true, err
	}))
	limits := plan.Limits()
	minutes := func(requests int) Measure {
		return func(context.Context) float64 {
			fmt.Fprintf(e.Log, "  %d requests, of %d a month\n", requests, limits.Month)
			return float64(max(0, requests-limits.Detail.Burst)) / float64(limits.Detail.PerMinute)
		}
	}
	return Sides{Pnyx: minutes(paid.requests), Baseline: minutes(lists)}
}
