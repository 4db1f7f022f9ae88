package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// choiceRow is what a row says of the choice of a ballot.
type choiceRow struct {
	ChoiceKey *string                 `json:"choiceKey"`
	Choice    *struct{ Label string } `json:"choice"`
}

// showChoicesOfBallots compares the rows of voters' histories with the same ballots below their proposals.
func (i *instance) showChoicesOfBallots(t *testing.T) {
	t.Helper()
	var daos []struct{ DAOID string }
	i.Get("/v2/daos?limit=100", &daos)
	ballots := map[string]map[string]choiceRow{} // by proposal and voter
	labels := map[string]bool{}
	for _, dao := range daos {
		var voters []struct{ VoterIdentity string }
		i.Get("/v2/daos/"+dao.DAOID+"/voters?limit=1", &voters)
		for _, voter := range voters {
			var votes []struct {
				choiceRow
				Proposal struct{ ProposalKey string }
			}
			i.Get("/v2/voters/"+voter.VoterIdentity+"/votes?limit=5", &votes)
			for _, vote := range votes {
				key := vote.Proposal.ProposalKey
				if ballots[key] == nil {
					ballots[key] = ballotsOf(t, i, key)
				}
				want := ballots[key][voter.VoterIdentity]
				if diff := cmp.Diff(want, vote.choiceRow); diff != "" || want.Choice == nil {
					t.Fatalf("%s on %s (-ballot +vote):\n%s", voter.VoterIdentity, key, diff)
				}
				labels[want.Choice.Label] = true
			}
		}
	}
	if len(labels) < 5 {
		t.Errorf("got the labels %v, want labels of several kinds of votes", labels)
	}
}

// ballotsOf returns the choices of a proposal's ballots by voter.
func ballotsOf(t *testing.T, i *instance, key string) map[string]choiceRow {
	t.Helper()
	rows, err := i.Walk("/v2/proposals/"+key+"/votes", 500)
	byVoter := map[string]choiceRow{}
	for _, raw := range rows {
		var row struct {
			choiceRow
			VoterIdentity string
		}
		err = errors.Join(err, json.Unmarshal(raw, &row))
		byVoter[row.VoterIdentity] = row.choiceRow
	}
	if err != nil {
		t.Fatal(fmt.Errorf("ballots of %s: %w", key, err))
	}
	return byVoter
}
