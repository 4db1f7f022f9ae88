package e2e_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/test/env"
	"pnyx/test/upstream/hub"
)

// followed is a hub with the space harbor.eth of the DAO harbor, and a pnyx that follows it.
type followed struct {
	*instance

	hub *hub.Hub
}

// follow starts a hub that has what fill adds, and a pnyx with a warehouse of its own that
// follows it from nothing.
func follow(t *testing.T, fill func(*hub.Hub)) *followed {
	t.Helper()
	env.RequireEngine(t)
	upstream := hub.New(nil)
	upstream.AddSpace(hub.Space{ID: "harbor.eth", Name: "Harbor", Network: "1", Symbol: "HRB"})
	fill(upstream)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	text := fmt.Sprintf("contact: test@example.org\nsnapshot: {url: %s/graphql, requestsPerMinute: 6000}\n"+
		"daos:\n- {id: harbor, name: Harbor, snapshot: [harbor.eth]}\n", server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	i := start(t, t.TempDir(), []string{"PNYX_SOURCES=" + file}, "serve").ready()
	return &followed{i, upstream}
}

// propose publishes a proposal that is open for a time from now.
func propose(h *hub.Hub, title string, open time.Duration, choices ...string) string {
	now := time.Now()
	return h.Propose(hub.Proposal{
		Space: "harbor.eth", Title: title, Body: "What **" + title + "** means.", Choices: choices,
		Created: now.Add(-7 * 24 * time.Hour), Start: now.Add(-6 * 24 * time.Hour), End: now.Add(open),
	})
}

func vote(tb testing.TB, h *hub.Hub, v hub.Vote) {
	tb.Helper()
	v.Choice, v.Power = cmp.Or(v.Choice, "1"), cmp.Or(v.Power, "1.5")
	if _, err := h.Cast(v); err != nil {
		tb.Fatal(err)
	}
}

// agree waits until the API answers what the hub has, and returns how long that took.
func (f *followed) agree() time.Duration {
	f.TB.Helper()
	began := time.Now()
	env.Until(f.TB, f.difference)
	return time.Since(began)
}

// difference reports the first difference between the API and the hub.
func (f *followed) difference() error {
	want := f.hub.Truth().Proposals
	rows, err := f.Walk("/v2/proposals?daoId=harbor", 100)
	if err != nil {
		return err
	}
	titles := map[string]string{}
	for _, raw := range rows {
		var row struct {
			Title    string
			Identity struct{ ExternalID string }
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		titles[row.Identity.ExternalID] = row.Title
	}
	for id, p := range want {
		if titles[id] != p.Title {
			return fmt.Errorf("proposal %s: got title %q, want %q", id, titles[id], p.Title)
		}
		if err := f.votesDiffer(id, p); err != nil {
			return fmt.Errorf("votes on %s: %w", id, err)
		}
	}
	for id := range titles {
		if _, has := want[id]; !has {
			return fmt.Errorf("proposal %s is listed, and the hub does not have it", id)
		}
	}
	return nil
}

// votesDiffer compares the ballots of a proposal, and their sum.
func (f *followed) votesDiffer(id string, want hub.ProposalTruth) error {
	key := proposalKey("harbor", id)
	rows, err := f.Walk("/v2/proposals/"+key+"/votes", 500)
	sum := decimal.Zero
	for _, raw := range rows {
		var got struct {
			VoteID, VoterIdentity, ChoiceKey string
			VotingPower                      decimal.Decimal
		}
		err = errors.Join(err, json.Unmarshal(raw, &got))
		v := want.Votes[got.VoterIdentity]
		power, parseErr := decimal.NewFromString(v.Power)
		if err = errors.Join(err, parseErr); err != nil {
			return err
		}
		if got.VoteID != v.ID || got.ChoiceKey != v.Choice || !got.VotingPower.Equal(power) {
			return fmt.Errorf("got %s, want %+v", raw, v)
		}
		sum = sum.Add(power)
	}
	if err != nil || len(rows) != len(want.Votes) {
		return fmt.Errorf("got %d, want %d: %w", len(rows), len(want.Votes), err)
	}
	var summary struct {
		Totals struct{ VotingPower decimal.Decimal }
	}
	if _, err := f.Read("/v2/proposals/"+key+"/votes/summary", &summary); err != nil {
		return err
	}
	if total := summary.Totals.VotingPower; !total.Equal(sum) {
		return fmt.Errorf("got power %s, want %s", total, sum)
	}
	return nil
}

// TestHubIsFollowedFromNothing reads the past of a space, then a vote that was signed days
// ago.
func TestHubIsFollowedFromNothing(t *testing.T) {
	t.Parallel()

	var id string
	f := follow(t, func(h *hub.Hub) {
		id = propose(h, "Renew", 24*time.Hour, "Yes", "No")
		ended := propose(h, "Found", -24*time.Hour, "Yes", "No", "Abstain")
		for n := range 5 {
			vote(t, h, hub.Vote{Proposal: id, Voter: hub.Voter(fmt.Sprint(n)), Power: "22.192644284923612345678901234567"})
			vote(t, h, hub.Vote{Proposal: ended, Voter: hub.Voter(fmt.Sprint(n)), Choice: "3", Created: time.Now().Add(-48 * time.Hour)})
		}
		h.Finalize(ended, nil)
	})
	t.Logf("the past shows over HTTP after %s", f.agree())
	vote(t, f.hub, hub.Vote{Proposal: id, Voter: hub.Voter("late"), Choice: "2", Created: time.Now().Add(-5 * 24 * time.Hour)})
	t.Logf("a vote shows over HTTP after %s", f.agree())
}
