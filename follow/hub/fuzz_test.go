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
	}
	answers := &env.Answers{}
	host := answers.Host(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		answers.Body = body
		for _, r := range hub.Answered(t.Context(), host) {
			switch r := r.(type) {
			case *record.Source:
				if r.ID != "harbor.eth" {
					t.Errorf("got space %q", r.ID)
				}
			case *record.Proposal:
				if r.SourceID != "harbor.eth" {
					t.Errorf("got a proposal of %q", r.SourceID)
				}
			case *record.Ballot:
				if r.VoteID != "0x2" {
					t.Errorf("got vote %q", r.VoteID)
				}
			default:
				t.Errorf("got a record of %s", r.Kind())
			}
		}
	})
}
