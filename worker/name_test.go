package worker_test

import (
	"fmt"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// primaryName is a verified primary name.
func primaryName(voter, name string) *record.Name {
	return &record.Name{Voter: voter, Source: governance.NameOfENS, Name: name, Verified: true}
}

func TestNamesShowWhereVotersDo(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.startFiller()
	h.startLeader(nil)
	h.appendBatch(
		&record.DAO{ID: "harbor", Name: "Harbor", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}},
		proposal("1"), vote("1", "0xd1", "5"), vote("1", "held.eth", "2"),
	)
	key := keyOf("harbor", "1")
	h.waitForVotes(key, "2")
	ballots := query.Ballots{Proposal: key, Order: query.BallotsByPower}
	ballots.Limit = query.ShortPage
	voters := query.Voters{DAOID: "harbor"}
	voters.Limit = query.ShortPage
	want := func(name string) {
		t.Helper()
		env.Until(t, func() error {
			var cast []governance.Ballot
			var ranked []governance.DAOVoter
			if _, err := h.readView(ballots, &cast); err != nil {
				return err
			}
			if _, err := h.readView(voters, &ranked); err != nil {
				return err
			}
			for _, got := range []*governance.VoterName{cast[0].VoterName, ranked[0].VoterName} {
				if name == "" && got != nil || name != "" && (got == nil || got.Name != name) {
					return fmt.Errorf("got name %v, want %q", got, name)
				}
			}
			return nil
		})
	}
	want("")
	h.appendBatch(&record.Name{Voter: "0xd1", Source: governance.NameOfSnapshot, Name: "Dee"})
	want("Dee")
	h.appendBatch(primaryName("0xd1", "dee.eth"), primaryName("0xd2", "held.eth"), &record.Name{Voter: "0xd3", Source: governance.NameOfTally, Name: "dan.eth"})
	want("dee.eth")
	for name, identity := range map[query.Voter]string{"Dee.eth": "0xd1", "0xd1": "0xd1", "held.eth": "held.eth", "dan.eth": ""} {
		env.Until(t, func() error {
			var got governance.VoterProfile
			q := query.Profile{Voter: name}
			_, err := h.readView(q, &got)
			if view, _, _ := h.store.Page(t.Context(), cache.NewPageRequest(q)); identity == "" && view.Absent {
				return nil
			}
			if err == nil && got.VoterIdentity != identity {
				err = fmt.Errorf("%s: got %q, want %q", name, got.VoterIdentity, identity)
			}
			return err
		})
	}
	h.appendBatch(&record.Name{Voter: "0xd1", Source: governance.NameOfENS, Withdrawn: true})
	want("Dee")
}
