package records

import (
	"context"
	"fmt"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func proposalTable() table {
	return table{
		kind: record.KindProposal,
		keys: []column{{"proposal_ref", "FixedString(16)"}},
		columns: []string{
			"provider", "source_id", "external_id", "title", "body", "proposer_id",
			"source_url", "discussion_url", "vote_type", "state", "choices",
			"quorum_raw", "quorum", "created_at", "updated_at", "start_at", "end_at",
			"start_day_only", "end_day_only", "stated_scores", "stated_total",
			"stated_votes", "flagged", "upstream_id", "upstream_type", "upstream_status",
			"milestone_types", "milestone_times", "milestone_hashes", "snapshot_url",
			"origin", "provisional", "quorum_choices", "onchain_id", "withdrawn",
			"scores_state", "stated_choice_votes", "quorum_type", "stated_actions", "voting_token",
		},
		values: valuesOf(proposalValues),
	}
}

func proposalValues(into []any, p *record.Proposal) ([]any, error) {
	types, times, hashes := []string{}, []*time.Time{}, []string{}
	for _, m := range p.Milestones {
		types, times, hashes = append(types, m.Type), append(times, warehouse.TimeOrNull(m.At)), append(hashes, m.TxHash)
	}
	return append(into,
		string(p.Provider), p.SourceID, p.ExternalID, p.Title, p.Body, p.ProposerID,
		p.SourceURL, p.DiscussionURL, string(p.VoteType), p.State, warehouse.NonNilTexts(p.Choices),
		p.QuorumRaw, p.Quorum, warehouse.TimeOrNull(p.CreatedAt), warehouse.TimeOrNull(p.UpdatedAt),
		warehouse.TimeOrNull(p.StartAt), warehouse.TimeOrNull(p.EndAt),
		p.StartDayOnly, p.EndDayOnly, warehouse.NonNilDecimals(p.StatedScores), p.StatedScoresTotal,
		p.StatedVotes, p.Flagged, p.UpstreamID, p.UpstreamType, p.UpstreamStatus,
		types, times, hashes, p.SnapshotURL,
		p.Origin, p.Provisional, warehouse.NonNilTexts(p.QuorumChoices), p.OnchainID, p.Withdrawn,
		p.ScoresState, append([]uint64{}, p.StatedChoiceVotes...), string(p.QuorumType), p.StatedActions, p.VotingToken,
	), nil
}

// Proposal is the latest version of a proposal.
type Proposal struct {
	record.Proposal
	Ref record.RefHash `ch:"proposal_ref"`
	// TitleDerived reports that Title is not stated but taken from the body.
	TitleDerived bool `ch:"-"`
	// LacksBallots is true if a file lacked ballots of it, and none closed the gap. The publisher sets it.
	LacksBallots bool `ch:"-"`
	// ObservedAt is the start of the import that brought this version.
	ObservedAt governance.Timestamp
}

// Proposals returns proposals in order of their references. Unknown ones are left out.
func Proposals(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) ([]Proposal, error) {
	type row struct {
		Proposal
		MilestoneTypes  []string
		MilestoneTimes  []*time.Time
		MilestoneHashes []string
	}
	rows, err := warehouse.Find[row](ctx, w, fmt.Sprintf("read %d proposals", len(refs)), sqlText("proposal_by_ref"),
		warehouse.RefTable(refs))
	return warehouse.Values(rows, func(r row) Proposal {
		r.Title, r.TitleDerived = governance.TitleOrDerived(r.Title, r.Body)
		if len(r.QuorumChoices) == 0 {
			r.QuorumChoices = nil // no rule of its own
		}
		if len(r.StatedChoiceVotes) == 0 {
			r.StatedChoiceVotes = nil
		}
		for m, kind := range r.MilestoneTypes {
			r.Milestones = append(r.Milestones, record.Milestone{
				Type: kind, At: governance.OptionalTimestamp(r.MilestoneTimes[m]), TxHash: r.MilestoneHashes[m],
			})
		}
		return r.Proposal
	}), err
}

// AllProposals returns the reference of every proposal, in order.
func AllProposals(ctx context.Context, w *warehouse.Warehouse) ([]record.RefHash, error) {
	return warehouse.Find[record.RefHash](ctx, w, "list proposals", sqlText("proposal_refs"))
}
