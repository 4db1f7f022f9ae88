package tally_test

import (
	"testing"

	"pnyx/follow/tally"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// FuzzAnswer reads bytes as the answers of an endpoint: what becomes a record is what the
// endpoint was asked for.
func FuzzAnswer(f *testing.F) {
	const proposal = `{"id":"1","onchainId":"5","organization":{"slug":"harbor"},"status":"active","metadata":{"title":"a","description":"b"},` +
		`"governor":{"id":"eip155:1:0x00000000000000000000000000000000000000aa","token":{"decimals":18}},"quorum":"1",` +
		`"events":[{"type":"created","createdAt":"2026-03-04T00:00:00Z"}],"voteStats":[{"type":"for","votesCount":"1","votersCount":1}]}`
	for _, seed := range []string{
		`{"data":{"organization":{"id":"1","slug":"harbor","name":"Harbor"}}}`, `{"data":{"proposal":` + proposal + `}}`,
		`{"data":{"proposals":{"nodes":[` + proposal + `,{}],"pageInfo":{"lastCursor":"x"}}}}`,
		`{"data":{"votes":{"nodes":[{"id":"2","type":"for","amount":"5","voter":{"address":"0x1"},"proposal":{"id":"1"}}],"pageInfo":{"lastCursor":""}}}}`,
		`{"data":{"proposal":{"id":"1","onchainId":"5","organization":{"slug":"a"},"Organization":{"slug":"harbor"}}}}`,
		`{"errors":[{"message":"no"}],"data":null}`,
	} {
		f.Add([]byte(seed))
		for _, text := range env.Lacking(f, seed) {
			f.Add([]byte(text))
		}
	}
	answers := &env.Answers{}
	host := answers.Host(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		answers.Body = body
		for _, r := range tally.Answered(t.Context(), host) {
			switch r := r.(type) {
			case *record.Source:
				env.Want(t, "harbor", r.ID, "organization")
			case *record.Proposal:
				env.Want(t, "harbor", r.SourceID, "a proposal")
			case *record.Ballot:
				env.Want(t, "1", r.Proposal.ExternalID, "a vote")
			default:
				t.Errorf("got a record of %s", r.Kind())
			}
		}
	})
}

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
