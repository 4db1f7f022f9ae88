package main

import (
	"context"
	"errors"
	"fmt"
)

// Proposal is one of the data set's.
type Proposal struct {
	Key, Source, ExternalID string
	Votes                   uint64
}

// largestProposal is the one with most ballots.
func (w *World) largestProposal(ctx context.Context) (Proposal, error) {
	return w.proposal(ctx, "1 ORDER BY votes DESC, proposal_key")
}

// smallProposal is a proposal of Snapshot with a thousand ballots at the most.
func (w *World) smallProposal(ctx context.Context) (Proposal, error) {
	return w.proposal(ctx, "provider = 'snapshot' AND votes BETWEEN 10 AND 1000 ORDER BY votes DESC, proposal_key")
}

// proposal is the first that a condition lets through.
func (w *World) proposal(ctx context.Context, condition string) (Proposal, error) {
	found, err := w.proposals(ctx, condition, 1)
	if err != nil || len(found) == 0 {
		return Proposal{}, errors.Join(errors.New("there is no proposal where "+condition), err)
	}
	return found[0], nil
}

// proposals are the first that a condition lets through.
func (w *World) proposals(ctx context.Context, condition string, most int) (found []Proposal, err error) {
	_, conn, err := w.Warehouse(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, fmt.Sprintf("SELECT proposal_key, source_id, external_id, votes FROM proposal_states FINAL WHERE %s LIMIT %d",
		condition, most))
	if err != nil {
		return nil, fmt.Errorf("find proposals: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var p Proposal
		if err := rows.Scan(&p.Key, &p.Source, &p.ExternalID, &p.Votes); err != nil {
			return nil, fmt.Errorf("find proposals: %w", err)
		}
		found = append(found, p)
	}
	return found, rows.Err()
}

// generation is the ordered copy of a proposal's ballots; zero while there is none.
func (w *World) generation(ctx context.Context, key string) (generation uint64, err error) {
	_, conn, err := w.Warehouse(ctx)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT max(generation) FROM sorted_copies WHERE kind = 'ballots' AND subject = $1", key).Scan(&generation)
	if err != nil {
		return 0, fmt.Errorf("find the copy of %s: %w", key, err)
	}
	return generation, nil
}
