package main

import (
	"context"
	"errors"
	"fmt"
)

// Proposal is a proposal of the data set.
type Proposal struct {
	// Key is the proposalKey of the API, Source the id of the source, ExternalID the id of the proposal there.
	Key, Source, ExternalID string
	// Votes is the number of ballots that count.
	Votes uint64
}

func (e *Environment) largestProposal(ctx context.Context) Proposal {
	return e.proposal(ctx, "1 ORDER BY votes DESC, proposal_key")
}

// smallProposal returns a Snapshot proposal with at most 1,000 ballots.
func (e *Environment) smallProposal(ctx context.Context) Proposal {
	return e.proposal(ctx, "provider = 'snapshot' AND votes BETWEEN 10 AND 1000 ORDER BY votes DESC, proposal_key")
}

func (e *Environment) proposal(ctx context.Context, condition string) Proposal {
	return e.proposals(ctx, condition, 1)[0]
}

// proposals returns the first proposals that match an SQL condition; without any, the row ends.
func (e *Environment) proposals(ctx context.Context, condition string, limit int) (found []Proposal) {
	_, conn := e.Warehouse(ctx)
	rows := must(conn.Query(ctx, fmt.Sprintf("SELECT proposal_key, source_id, external_id, votes FROM proposal_states FINAL WHERE %s LIMIT %d",
		condition, limit)))
	defer rows.Close()
	for rows.Next() {
		var p Proposal
		mustDo(rows.Scan(&p.Key, &p.Source, &p.ExternalID, &p.Votes))
		found = append(found, p)
	}
	if err := rows.Err(); err != nil || len(found) == 0 {
		mustDo(errors.Join(errors.New("there is no proposal where "+condition), err))
	}
	return found
}
