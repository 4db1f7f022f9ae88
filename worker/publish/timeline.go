package publish

import (
	"fmt"
	"maps"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/counts"
)

func (e daoEvaluation) timelines() []governance.Timeline {
	return []governance.Timeline{
		{DAOID: e.dao.ID, Metric: governance.ProposalsCreated, Buckets: buckets(e.totals.CreatedIn), Undated: governance.CountOf(e.totals.Uncreated)},
		{DAOID: e.dao.ID, Metric: governance.VotesCast, Buckets: buckets(e.totals.VotedIn), Undated: governance.CountOf(e.totals.Undated)},
	}
}

func buckets(counts map[counts.Month]uint64) []governance.TimelineBucket {
	filled := []governance.TimelineBucket{}
	if len(counts) == 0 {
		return filled
	}
	months := slices.Sorted(maps.Keys(counts))
	for month := months[0]; month <= months[len(months)-1]; month = next(month) {
		filled = append(filled, governance.TimelineBucket{
			Month: fmt.Sprintf("%04d-%02d", month/100, month%100),
			Value: governance.CountOf(counts[month]),
		})
	}
	return filled
}

// next returns the following month; months are numbers like 202601.
func next(month counts.Month) counts.Month {
	if month%100 == 12 {
		return month + 100 - 11
	}
	return month + 1
}
