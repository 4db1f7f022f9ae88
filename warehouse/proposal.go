package warehouse

import (
	"time"

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
		},
		values: proposalValues,
	}
}

func proposalValues(into []any, r record.Record) ([]any, error) {
	p, err := recordAs[*record.Proposal](r)
	if err != nil {
		return nil, err
	}
	milestones := splitMilestones(p.Milestones)
	return append(into,
		string(p.Provider), p.SourceID, p.ExternalID, p.Title, p.Body, p.ProposerID,
		p.SourceURL, p.DiscussionURL, string(p.VoteType), p.State, nonNilTexts(p.Choices),
		p.QuorumRaw, p.Quorum, timeOrNull(p.CreatedAt), timeOrNull(p.UpdatedAt),
		timeOrNull(p.StartAt), timeOrNull(p.EndAt),
		p.StartDayOnly, p.EndDayOnly, nonNilDecimals(p.StatedScores), p.StatedScoresTotal,
		p.StatedVotes, p.Flagged, p.UpstreamID, p.UpstreamType, p.UpstreamStatus,
		milestones.types, milestones.times, milestones.hashes, p.SnapshotURL,
	), nil
}

// milestoneColumns holds milestones as the arrays that columns hold.
type milestoneColumns struct {
	types, hashes []string
	times         []*time.Time
}

func splitMilestones(milestones []record.Milestone) milestoneColumns {
	columns := milestoneColumns{types: []string{}, hashes: []string{}, times: []*time.Time{}}
	for _, m := range milestones {
		columns.types = append(columns.types, m.Type)
		columns.hashes = append(columns.hashes, m.TxHash)
		columns.times = append(columns.times, timeOrNull(m.At))
	}
	return columns
}
