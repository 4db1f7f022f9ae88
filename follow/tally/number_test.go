package tally_test

import (
	"testing"

	"pnyx/follow/tally"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

func TestNumbersAndTimesInAnyNotationAreFollowed(t *testing.T) {
	t.Parallel()
	const proposal = `{"id":"1","onchainId":"5","organization":{"slug":"harbor"},"status":"active","metadata":{"title":"a","description":"b"},` +
		`"governor":{"id":"eip155:1:0x00000000000000000000000000000000000000aa","token":{"decimals":"18.0"}},"quorum":1e18,` +
		`"events":[{"type":"created","block":{"timestamp":1700000000}}],"end":{"timestamp":1700000000500},` +
		`"voteStats":[{"type":"for","votesCount":"2e18","votersCount":"1"}]}`
	answers := &env.Answers{Body: []byte(`{"data":{"proposals":{"nodes":[` + proposal + `],"pageInfo":{"lastCursor":""}},` +
		`"votes":{"nodes":[{"id":"2","type":"for","amount":5e17,"voter":{"address":"0x1"},"proposal":{"id":"1"},"block":{"timestamp":"1700000000"}}],` +
		`"pageInfo":{"lastCursor":""}}}}`)}
	var proposals, ballots int
	for _, r := range tally.Answered(t.Context(), answers.Host(t)) {
		switch r := r.(type) {
		case *record.Proposal:
			proposals++
			if *r.StatedVotes != 1 || r.Quorum.String() != "1" || r.StatedScores[0].String() != "2" ||
				r.CreatedAt.String() != "2023-11-14T22:13:20.000Z" || r.EndAt.String() != "2023-11-14T22:13:20.500Z" {
				t.Errorf("got %+v", r)
			}
		case *record.Ballot:
			ballots++
			if r.Power.String() != "0.5" || r.VotedAt.String() != "2023-11-14T22:13:20.000Z" {
				t.Errorf("got %s at %s", r.Power, r.VotedAt)
			}
		}
	}
	if proposals == 0 || ballots == 0 {
		t.Errorf("got %d proposals and %d ballots, want some", proposals, ballots)
	}
}
