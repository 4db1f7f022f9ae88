package worker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse/record"
)

func TestBallotsWithoutATimeAreInTheMonthOfTheirVoteOrUndated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	during := func(id, start, end string) *record.Proposal {
		p := proposal(id)
		for at, text := range map[**governance.Timestamp]string{&p.StartAt: start, &p.EndAt: end} {
			if parsed, err := governance.ParseTimestamp(text); err == nil {
				*at = &parsed
			}
		}
		return p
	}
	dated := vote("within", "0x3", "1")
	at := governance.Timestamp(1767225600000) // 2026-01-01
	dated.VotedAt = &at
	h.appendBatch(
		during("within", "2026-02-01", "2026-02-28"), during("across", "2026-02-01", "2026-03-01"), during("open", "2026-02-01", ""),
		during("reversed", "2026-02-20", "2026-02-10"),
		vote("within", "0x1", "1"), vote("within", "0x2", "1"), dated, vote("across", "0x1", "1"), vote("open", "0x1", "1"), vote("reversed", "0x1", "1"),
	)
	h.startLeader(h.metrics)
	h.waitForPublication()
	for metric, want := range map[string]governance.Timeline{
		governance.VotesCast: {
			DAOID: "dao.eth", Metric: governance.VotesCast, Undated: "3",
			Buckets: []governance.TimelineBucket{{Month: "2026-01", Value: "1"}, {Month: "2026-02", Value: "2"}},
		},
		governance.ProposalsCreated: {
			DAOID: "dao.eth", Metric: governance.ProposalsCreated, Undated: "0", Buckets: []governance.TimelineBucket{{Month: "2026-02", Value: "4"}},
		},
	} {
		got, _, err := read[governance.Timeline](h, cache.TimelineKey("dao.eth", metric))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
