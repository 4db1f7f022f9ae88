package warehouse_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// others is the number of proposals in addition to those that a query is about:
// several of the blocks that tables are read in.
const others = 40_000

// manyProposals selects proposals of many DAOs, each with a state and a row of the list.
const manyProposals = `(SELECT toFixedString(substring(SHA256(toString(number)), 1, 16), 16) AS proposal_ref,
	concat('p1_', toString(number)) AS proposal_key, concat('dao-', toString(number)) AS dao_id,
	'snapshot' AS provider, dao_id AS source_id, toString(number) AS external_id,
	'closed' AS lifecycle, ['passed', 'failed', 'unknown'][1 + modulo(number, 3)] AS outcome, 1 AS votes,
	now() + INTERVAL 1 DAY AS next_change_at,
	toDateTime64(number, 3, 'UTC') AS created_at, created_at AS updated_at, created_at AS end_at, 1 AS revision
	FROM numbers(%d))`

// writeProposals writes manyProposals into a warehouse.
func writeProposals(t *testing.T, url string) {
	t.Helper()
	conn := raw(t, url)
	for table, columns := range map[string]string{
		"proposals":        "proposal_ref, provider, source_id, external_id",
		"proposal_states":  "proposal_ref, proposal_key, dao_id, provider, lifecycle, outcome, votes, next_change_at, revision",
		"listed_proposals": "proposal_ref, proposal_key, dao_id, provider, lifecycle, outcome, created_at, updated_at, end_at, revision",
	} {
		insert := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM "+manyProposals, table, columns, columns, others)
		mustExec(t, conn, insert)
	}
}

// rowsRead returns how many rows of the warehouse something reads.
func rowsRead(t *testing.T, read func(context.Context) error) (rows uint64) {
	t.Helper()
	ctx := clickhouse.Context(t.Context(), clickhouse.WithProgress(func(p *clickhouse.Progress) { rows += p.Rows }))
	env.MustDo(t, read(ctx))
	return rows
}

func TestQueriesAboutFewProposalsReadFewRows(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	writeProposals(t, url)
	for what, read := range map[string]func(context.Context) error{
		"those whose time has come": func(ctx context.Context) error {
			due, err := counts.ProposalsDue(ctx, w, time.Now())
			env.Want(t, 0, len(due), "proposals due")
			return err
		},
		"the sums of a DAO": func(ctx context.Context) error {
			totals, err := counts.DAOTotalsOf(ctx, w, []string{"dao-7"})
			if len(totals) != 1 || totals["dao-7"].Votes != 1 {
				t.Errorf("got %+v, want one vote", totals)
			}
			return err
		},
		"the other form of a proposal": func(ctx context.Context) error {
			_, err := counts.Counterparts(ctx, w, []record.RefHash{ref("a").Hash()})
			return err
		},
		"the mirrors of a proposal": func(ctx context.Context) error {
			_, err := records.Mirrors(ctx, w, []record.RefHash{ref("a").Hash()})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			if rows := rowsRead(t, read); rows > others*3/4 {
				t.Errorf("%d rows are read where there are %d proposals", rows, others)
			}
		})
	}
	middle := governance.Timestamp(others/2) * 1000
	for _, order := range []query.ProposalOrder{query.ProposalsByUpdate, query.ProposalsByCreation, query.ProposalsEndingSoon} {
		for where, after := range map[string]*query.ProposalPosition{"first": nil, "middle": {Band: 2, At: &middle}} {
			t.Run(fmt.Sprintf("the %s page by %v", where, order), func(t *testing.T) {
				q := query.Proposals{Outcomes: []governance.Outcome{governance.Failed, governance.Unknown}, Order: order}
				q.After, q.Limit = after, 5
				rows := rowsRead(t, func(ctx context.Context) error {
					page, err := pages.ListProposals(ctx, w, q)
					env.Want(t, 5, len(page), "rows")
					return err
				})
				if rows > others/2 {
					t.Errorf("%d rows are read where there are %d proposals", rows, others)
				}
			})
		}
	}
}

func TestExistingRowsGetNewProjections(t *testing.T) {
	t.Parallel()
	url := env.EmptyDatabaseURL(t) // its schema changes
	w := openAt(t, warehouse.Options{URL: url})
	mustExec(t, raw(t, url), "ALTER TABLE listed_proposals DROP PROJECTION by_creation")
	writeProposals(t, url)
	env.MustDo(t, w.Migrate(t.Context()))
	env.Until(t, func() error {
		rows := rowsRead(t, func(ctx context.Context) error {
			page, err := pages.ListProposals(ctx, w, query.Proposals{
				Order: query.ProposalsByCreation, Paging: query.Paging[query.ProposalPosition]{Limit: 5},
			})
			if len(page) != 5 || page[0].Key != governance.ProposalKey(fmt.Sprintf("p1_%d", others-1)) {
				t.Errorf("got %+v, want five from the newest on", page)
			}
			return err
		})
		if rows > others/2 {
			return fmt.Errorf("a page reads %d of %d rows", rows, others)
		}
		return nil
	})
}
