package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// dossiersMeasured is how many dossiers one figure is of, and pendingFor how long one may be pending.
const (
	dossiersMeasured = 400
	pendingFor       = 30 * time.Second
	// nodeCopies is longer than a node keeps its own copies.
	nodeCopies = 1100 * time.Millisecond
)

func dossierRows() []Row {
	row := func(id, name, condition string, count, callers int, unit string, value Bound) Row {
		return Row{
			ID: id, Name: name, Unit: unit, Value: value, Rounds: 3, Quick: 3,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				return dossiers(ctx, e, condition, count, callers)
			},
		}
	}
	const small, largest = "votes BETWEEN 1 AND 1000 AND dao_id != ''", "dao_id != '' ORDER BY votes DESC, proposal_key"
	return []Row{
		row("dossiers", "distinct dossiers of small proposals, 64 callers", small, dossiersMeasured, connections, "requests/s", AtLeast(300)),
		row("dossier", "dossier of up to 10,000 ballots: the median", "votes BETWEEN 1 AND 10000 AND dao_id != '' ORDER BY votes DESC",
			dossiersMeasured/10, 1, "ms", AtMost(60)),
		row("dossier-largest", "dossier of 900,000 ballots", largest, 1, 1, "ms", AtMost(600)),
	}
}

// dossiers measures how many dossiers a second callers get, and of one caller the median in milliseconds.
func dossiers(ctx context.Context, e *Environment, condition string, count, callers int) Sides {
	base, _ := e.API(ctx)
	proposals := e.proposals(ctx, condition, count)
	return Sides{Pnyx: func(ctx context.Context) float64 {
		forgetPages(ctx, e)
		wait(nodeCopies)
		took := make([]time.Duration, len(proposals))
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(callers)
		began := time.Now()
		for n, p := range proposals {
			group.Go(func() (err error) {
				took[n], err = awaitDossier(groupCtx, base+"/v2/proposals/"+p.Key+"/evidence", e.internal())
				return err
			})
		}
		mustDo(group.Wait())
		all := time.Since(began)
		if callers > 1 {
			return float64(len(proposals)) / all.Seconds()
		}
		slices.Sort(took)
		return milliseconds(took[len(took)/2])
	}}
}

// awaitDossier asks for evidence until its dossier is there, and returns how long that took.
func awaitDossier(ctx context.Context, address string, header http.Header) (time.Duration, error) {
	for began := time.Now(); ; {
		var answer struct {
			Data struct{ Intelligence struct{ Status string } }
		}
		err := read(ctx, address, header, &answer)
		took := time.Since(began)
		switch found := answer.Data.Intelligence.Status; {
		case err != nil:
			return 0, err
		case found == "available":
			return took, nil
		case took > pendingFor:
			return 0, fmt.Errorf("GET %s: the dossier is %s for %s", address, found, took)
		}
	}
}
