package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/test/env"
	"pnyx/test/upstream/tally"
)

// tallyDiffers reports the first difference between the API and an endpoint of Tally's API:
// of titles, and of ballots with their power.
func tallyDiffers(i *instance, upstream *tally.Tally) error {
	proposals, ballots := upstream.Truth()
	want, got := map[string]string{}, map[string]string{}
	for _, p := range proposals {
		want[p.ExternalID] = p.Title
	}
	for _, b := range ballots {
		want[b.VoteID] = fmt.Sprint(b.Voter, b.ChoiceKey, b.Power)
	}
	rows, err := i.Walk("/v2/proposals?daoId=harbor", 100)
	for _, raw := range rows {
		var row struct {
			ProposalKey, Title string
			Identity           struct{ ExternalID string }
		}
		err = errors.Join(err, json.Unmarshal(raw, &row))
		got[row.Identity.ExternalID] = row.Title
		votes, readErr := i.Walk("/v2/proposals/"+row.ProposalKey+"/votes", 500)
		err = errors.Join(err, readErr)
		for _, raw := range votes {
			var vote struct {
				VoteID, VoterIdentity, ChoiceKey string
				VotingPower                      decimal.Decimal
			}
			err = errors.Join(err, json.Unmarshal(raw, &vote))
			got[vote.VoteID] = fmt.Sprint(vote.VoterIdentity, vote.ChoiceKey, vote.VotingPower)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		err = errors.Join(err, fmt.Errorf("-endpoint +API\n%s", diff))
	}
	return err
}

// TestLongTallyIsFollowedFromNothing reads the past of an organization whose token has six
// decimals, and after a restart what happened meanwhile.
func TestLongTallyIsFollowedFromNothing(t *testing.T) {
	t.Parallel()

	upstream := tally.New(time.Now)
	upstream.Switch(func(s *tally.Switches) { s.Key = "tally-s3cret" })
	upstream.AddOrganization("harbor", "Harbor", 6)
	var ids []string
	for n := range 25 {
		ids = append(ids, upstream.Propose("harbor", fmt.Sprint("Proposal ", n), time.Hour))
		upstream.Vote(ids[n], "0xAA", "for", "1500000")
		upstream.Vote(ids[n], "0xBB", "against", "1")
		if n < 20 {
			upstream.SetStatus(ids[n], "executed")
		}
	}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	writeSources(t, file, fmt.Sprintf("contact: test@example.org\ntally: {url: %s/query, apiKey: \"${TALLY_KEY}\", requestsPerMinute: 6000}\n"+
		"daos:\n- {id: harbor, name: Harbor, tally: [harbor]}\n", server.URL))
	i := startShared(t, []string{"PNYX_SOURCES=" + file, "TALLY_KEY=tally-s3cret"}, "serve").ready()
	env.Until(t, func() error { return tallyDiffers(i, upstream) })

	i.Stop()
	upstream.SetStatus(ids[23], "canceled")
	upstream.Vote(upstream.Propose("harbor", "New", time.Hour), "0xDD", "abstain", "9")
	upstream.Vote(ids[24], "0xEE", "for", "2500000")
	i.Start()
	env.Until(t, func() error { return tallyDiffers(i, upstream) })
}
