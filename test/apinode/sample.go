package apinode

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// AsOf is when the data of samples was computed.
var AsOf = governance.TimestampOf(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)) //nolint:gochecknoglobals // a constant that Go cannot write as one

// Sample is what workers publish, and the pages that they make.
type Sample struct {
	// Views are the published values by key, and DAOs is the length of the list of DAOs.
	Views map[cache.Key]any
	DAOs  int
	// Kinds are the kinds of pages that Page makes: their payload, and whether their subject exists.
	Kinds []query.Kind
	Page  func(cache.PageRequest) (payload any, known bool, err error)
}

// Cut returns the rows after a position, one more than a page shows.
func Cut[Row, Position any](rows []Row, after *Position, limit int, is func(Row, Position) bool) []Row {
	from := 0
	if after != nil {
		from = 1 + slices.IndexFunc(rows, func(row Row) bool { return is(row, *after) })
	}
	return rows[from:min(len(rows), from+limit+1)]
}

// publish publishes the sample, and that there is no token.
func (n *Node) publish() {
	n.Helper()
	ctx := n.Context()
	writer := n.Store.NewWriter(1)
	head := cache.View{Revision: 1, DataAsOf: AsOf, Readiness: governance.Ready}
	for key, data := range n.sample.Views {
		writer.SetPayload(ctx, key, head, data)
	}
	for i := range n.sample.DAOs {
		row := governance.DAOListItem{DAOID: fmt.Sprintf("dao-%03d", i), Name: fmt.Sprintf("Name %d of Many", i), CoverageStatus: governance.Complete}
		writer.SetDAO(ctx, head, row)
	}
	env.MustDo(n, writer.Flush(ctx))
	n.Tokens()
	env.MustDo(n, env.Announce(ctx, n.Store, 1))
}

// work makes pages of the sample until ctx ends.
func (n *Node) work(ctx context.Context) {
	one := func(query.Kind) int { return 1 }
	for ctx.Err() == nil {
		fills, err := n.Store.Fills().Dequeue(ctx, n.sample.Kinds, cache.Oldest, one, time.Second)
		if err != nil {
			continue // nothing to do, or a Redis that a busy machine keeps waiting: nodes ask again
		}
		n.fill(context.WithoutCancel(ctx), fills[0].Page)
	}
}

func (n *Node) fill(ctx context.Context, request cache.PageRequest) {
	rows, known, err := n.sample.Page(request)
	if err != nil {
		n.Errorf("page of %s: %v", request.Kind, err)
		return
	}
	head := cache.View{
		Revision: 1, DataAsOf: AsOf, Readiness: governance.Ready, Absent: !known,
		FreshUntil: new(governance.TimestampOf(time.Now().Add(24 * time.Hour))),
	}
	view, err := cache.NewView(head, rows)
	if err != nil {
		n.Errorf("view of %s: %v", request.Kind, err)
		return
	}
	_ = n.Store.Fills().Complete(ctx, []cache.CompletedFill{{Page: request, View: &view}}) // nodes ask again, as above
}
