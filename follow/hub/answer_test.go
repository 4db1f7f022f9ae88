package hub_test

import (
	"testing"

	"pnyx/follow/hub"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// FuzzAnswer reads bytes as the answers of a hub: what becomes a record is what the hub was
// asked for.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"data":{"proposals":[{"id":"0x1","space":{"id":"harbor.eth"},"created":1,"start":1,"end":2,"type":"basic","title":"a","choices":["Yes"],"scores":[1],"votes":1}]}}`,
		`{"data":{"proposals":[{"id":"0x1","space":{"id":"a"},"Space":{"id":"harbor.eth"}}]}}`,
		`{"data":{"votes":[{"id":"0x2","voter":"0x1","created":1,"choice":{"1":2},"vp":1e3,"proposal":{"id":"0x1"},"space":{"id":"harbor.eth"}}]}}`,
		`{"data":{"spaces":[{"id":"harbor.eth","name":"Harbor","network":"1","symbol":"H","proposalsCount":1}]}}`,
		`{"data":{"messages":[{"mci":9223372036854775807,"id":"0x","type":"vote","space":"harbor.eth","timestamp":1}],"newest":[{"mci":8}]}}`,
		`{"errors":[{"message":"broken","path":["proposals",1e300,"id"]}],"data":null}`,
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
		for _, r := range hub.Answered(t.Context(), host) {
			switch r := r.(type) {
			case *record.Source:
				env.Want(t, "harbor.eth", r.ID, "space")
			case *record.Proposal:
				env.Want(t, "harbor.eth", r.SourceID, "a proposal")
			case *record.Ballot:
				env.Want(t, "0x2", r.VoteID, "vote")
			default:
				t.Errorf("got a record of %s", r.Kind())
			}
		}
	})
}

func TestNumbersAndTimesInAnyNotationAreFollowed(t *testing.T) {
	t.Parallel()
	answers := &env.Answers{Body: []byte(`{"data":{
		"proposals":[{"id":"0x1","space":{"id":"harbor.eth"},"created":1700000000.0,"updated":"1700000001","start":1.7e9,"end":1700090000250,
			"scores_updated":1.0,"type":"basic","title":"a","choices":["Yes"],"scores":["1.5",2e0],"scores_total":3.5,"votes":2.0}],
		"votes":[{"id":"0x2","voter":"0x1","created":1700000000.5,"choice":1.0,"vp":"1.5","proposal":{"id":"0x1"},"space":{"id":"harbor.eth"}}]}}`)}
	var proposals, ballots int
	for _, r := range hub.Answered(t.Context(), answers.Host(t)) {
		switch r := r.(type) {
		case *record.Proposal:
			proposals++
			if *r.StatedVotes != 2 || r.StartAt.String() != "2023-11-14T22:13:20.000Z" || r.EndAt.String() != "2023-11-15T23:13:20.250Z" {
				t.Errorf("got %d votes from %s to %s", *r.StatedVotes, r.StartAt, r.EndAt)
			}
		case *record.Ballot:
			ballots++
			if r.ChoiceKey != "1" || r.Power.String() != "1.5" || r.VotedAt.String() != "2023-11-14T22:13:20.500Z" {
				t.Errorf("got choice %s with %s at %s", r.ChoiceKey, r.Power, r.VotedAt)
			}
		}
	}
	if proposals == 0 || ballots == 0 {
		t.Errorf("got %d proposals and %d ballots, want some", proposals, ballots)
	}
}
