package worker_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

func primaryName(voter, name string) *record.Name {
	return &record.Name{Voter: voter, Source: governance.NameOfENS, Name: name, Verified: true}
}

func TestNamesShowWhereVotersDo(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	h.append(
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
	h.append(&record.Name{Voter: "0xd1", Source: governance.NameOfSnapshot, Name: "Dee"})
	want("Dee")
	h.append(primaryName("0xd1", "dee.eth"), primaryName("0xd2", "held.eth"), &record.Name{Voter: "0xd3", Source: governance.NameOfTally, Name: "dan.eth"})
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
	h.append(&record.Name{Voter: "0xd1", Source: governance.NameOfENS, Withdrawn: true})
	want("Dee")
}

func TestSignalsNameTheVotersOfTheirTexts(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	const whale = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
	records := []record.Record{votedBetween("a", -200, -50), voteAt(whale, "70", "1", -150)}
	for i := range 11 {
		records = append(records, voteAt(fmt.Sprintf("0x%d", i), "1", "2", -150))
	}
	h.append(records...)
	want := func(start string) {
		t.Helper()
		env.Until(t, func() error {
			rows, err := h.signals("dao.eth")
			for _, row := range rows {
				if strings.Contains(string(row.Evidence), whale) && strings.HasPrefix(row.Summary, start) {
					return nil
				}
			}
			return cmp.Or(err, fmt.Errorf("got %v, want a summary that begins with %q", rows, start))
		})
	}
	want("0xd8da…6045 cast 70 ")
	h.append(&record.Name{Voter: whale, Source: governance.NameOfSnapshot, Name: "Vee"})
	want("0xd8da…6045 (“Vee”, snapshot) cast 70 ")
	h.append(primaryName(whale, "vitalik.eth"))
	want("0xd8da…6045 (“vitalik.eth”, ens) cast 70 ")
	h.append(primaryName(whale, "vit\u0430lik.eth"))
	want("0xd8da…6045 cast 70 ")
}
