package fill

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func (p *page) ballots(ctx context.Context, q query.Ballots) (cache.View, error) {
	var detail governance.ProposalDetail
	var rows []warehouse.LatestBallot
	there, err := p.fromSortedCopy(ctx, q.Scope(), func(generation uint64) (err error) {
		if generation != 0 {
			var reading errgroup.Group // a copy is read without knowing the proposal
			reading.Go(func() (err error) {
				detail, err = p.proposalDetail(ctx, q.Proposal)
				return err
			})
			rows, err = p.copiedBallots(ctx, generation, q)
			return errors.Join(err, reading.Wait())
		}
		if detail, err = p.proposalDetail(ctx, q.Proposal); err != nil {
			return err
		}
		ref := record.ProposalRef{Provider: detail.Identity.Provider, ExternalID: detail.Identity.ExternalID}
		rows, err = p.Warehouse.ListBallots(ctx, warehouse.BallotSource{Ref: ref.Hash()}, q)
		return err
	})
	if err != nil || !there {
		return p.absent(), err
	}
	head, labels := p.head, LabelsOf(detail.Choices)
	view := func(rows []warehouse.LatestBallot) (cache.View, error) {
		return cache.NewView(head, BallotRows(rows, labels))
	}
	if p.shown > 0 && len(rows) > p.shown {
		next := nextRequest(q, p.shown, rows[p.shown-1])
		p.next = &next
	}
	if p.ahead != nil {
		p.ahead.view = view
	}
	return view(rows)
}

// proposalDetail reads the published detail of a proposal, whose choices and identity a
// page of ballots needs.
func (p *page) proposalDetail(
	ctx context.Context, key governance.ProposalKey,
) (detail governance.ProposalDetail, err error) {
	view, err := p.Store.View(ctx, cache.ProposalDetailKey(key))
	if err == nil {
		err = view.Decode(&detail)
	}
	if err != nil {
		return governance.ProposalDetail{}, fmt.Errorf("read proposal %s: %w", key, err)
	}
	return detail, nil
}

// LabelsOf returns the labels of a proposal's choices by their keys.
func LabelsOf(choices []governance.Choice) map[string]string {
	labels := make(map[string]string, len(choices))
	for _, choice := range choices {
		labels[choice.Key] = choice.Label
	}
	return labels
}

// BallotRows returns ballots as callers see them. Labels are those of the choices.
func BallotRows(rows []warehouse.LatestBallot, labels map[string]string) []governance.Ballot {
	page := make([]governance.Ballot, len(rows))
	written := map[string]string{} // most ballots repeat one of few choices
	for i, row := range rows {
		label, known := written[row.RawChoice]
		if !known {
			label = ballotLabel(row.RawChoice, labels)
			written[row.RawChoice] = label
		}
		row.Choice.Label = label
		page[i] = row.Ballot
	}
	return page
}
