package tally

import (
	"context"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
)

// Answered reads the answers of a host as each kind of answer of an endpoint at which harbor
// is followed: the organization, its proposals, the proposal 1 and its votes.
func Answered(ctx context.Context, host *fetch.Host) (records []record.Record) {
	o := &organization{
		Tally: &Tally{Host: host, Slugs: []string{"harbor"}}, journal: &follow.Journal{},
		source: record.SourceRef{Provider: governance.Tally, ID: "harbor"}, notes: map[string]note{}, seen: map[string]uint64{}, behind: map[string]bool{},
	}
	if found, _, err := o.describe(ctx); err == nil {
		records = append(records, found)
	}
	if got, err := o.page(ctx, "proposals", nil, ""); err == nil {
		records = append(records, o.take(got.nodes...).records...)
	}
	if text, err := o.askProposal(ctx, "1"); err == nil {
		records = append(records, o.take(text).records...)
	}
	if got, err := o.page(ctx, "votes", nil, ""); err == nil {
		records = append(records, o.takeVotes("1", got.nodes).records...)
	}
	return records
}
