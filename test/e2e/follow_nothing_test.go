package e2e_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/forum"
	"pnyx/test/upstream/hub"
	"pnyx/test/upstream/tally"
)

// forumHost is the name of the followed forum.
const forumHost = "forum.harbor.example"

// upstreams are a hub, an endpoint of Tally's API and a forum, at which the DAO harbor is followed.
type upstreams struct {
	hub   *hub.Hub
	tally *tally.Tally
	forum *forum.Forum
}

// shown are titles of proposals, ballots and topics by id, as an answer or an upstream shows them.
type shown map[string]string

func (s shown) add(id string, fields ...any) error {
	if _, twice := s[id]; twice {
		return fmt.Errorf("%s is listed twice", id)
	}
	s[id] = fmt.Sprintln(fields...)
	return nil
}

// truth returns what the upstreams show.
func (u upstreams) truth() shown {
	want := shown{}
	for id, p := range u.hub.Truth().Proposals {
		_ = want.add(id, p.Title)
		for voter, v := range p.Votes {
			_ = want.add(v.ID, voter, v.Choice, decimal.RequireFromString(v.Power))
		}
	}
	proposals, ballots := u.tally.Truth()
	for _, p := range proposals {
		_ = want.add(p.ExternalID, p.Title)
	}
	for _, b := range ballots {
		_ = want.add(b.VoteID, b.Voter, b.ChoiceKey, b.Power)
	}
	for _, t := range u.forum.Truth(forumHost) {
		category := map[string]string{"1": "Proposals", "2": "Grants"}[t.CategoryID]
		_ = want.add("topic "+t.ExternalID, t.Title, t.Author, category, t.Tags, t.Posts, t.Posts-1, t.Likes, t.Views, t.URL(), t.CreatedAt,
			*t.Participants, strings.NewReplacer("<p>", "", "</p>", "").Replace(t.BodyHTML))
	}
	return want
}

// differ reports how the API differs from the upstreams.
func (u upstreams) differ(i *instance) error {
	got := shown{}
	stated := func(text *string) string { // what is not followed yet is null
		if text == nil {
			return ""
		}
		return *text
	}
	err := errors.Join(
		walkRows(i, "/v2/proposals?daoId=harbor", 100, func(row governance.ProposalListItem) error {
			return errors.Join(got.add(row.Identity.ExternalID, stated(row.Title)), got.addVotes(i, "/v2/proposals/"+string(row.ProposalKey)+"/votes"))
		}),
		walkRows(i, "/v2/forum-topics?daoId=harbor", 100, func(row governance.ForumTopic) error {
			var detail struct{ BodyText, Participants string }
			_, err := i.Read("/v2/forum-topics/"+string(row.TopicKey), &detail)
			return errors.Join(err, got.add("topic "+row.Identity.ExternalID, row.Title, stated(row.Author), stated(row.Category), row.Tags, row.Posts, row.Replies,
				row.Likes, row.Views, row.URL, row.CreatedAt, detail.Participants, detail.BodyText))
		}),
	)
	if diff := gocmp.Diff(u.truth(), got); diff != "" {
		err = errors.Join(err, fmt.Errorf("-upstream +API\n%s", diff))
	}
	return err
}

// addVotes adds the ballots of a proposal, whose sum the summary has to state.
func (s shown) addVotes(i *instance, path string) error {
	sum := decimal.Zero
	err := walkRows(i, path, 500, func(b governance.Ballot) error {
		power := decimal.RequireFromString(string(b.VotingPower))
		sum = sum.Add(power)
		return s.add(b.VoteID, b.VoterIdentity, *b.ChoiceKey, power)
	})
	var summary struct {
		Totals struct{ VotingPower decimal.Decimal }
	}
	_, readErr := i.Read(path+"/summary", &summary)
	if total := summary.Totals.VotingPower; !total.Equal(sum) {
		err = errors.Join(err, fmt.Errorf("%s: got power %s, want %s", path, total, sum))
	}
	return errors.Join(err, readErr)
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
	env.Must(h.Cast(v))(tb)
}

// The past of a space, an organization and a forum is read, and after a restart what happened meanwhile.
func TestLongUpstreamsAreFollowedFromNothing(t *testing.T) {
	t.Parallel()
	u := upstreams{hub.New(nil), tally.New(time.Now), forum.New(time.Now)}
	u.hub.AddSpace(hub.Space{ID: "harbor.eth", Name: "Harbor", Network: "1", Symbol: "HRB"})
	open, ended := propose(u.hub, "Renew", 24*time.Hour, "Yes", "No"), propose(u.hub, "Found", -24*time.Hour, "Yes", "No", "Abstain")
	for n := range 5 {
		vote(t, u.hub, hub.Vote{Proposal: open, Voter: hub.Voter(fmt.Sprint(n)), Power: "22.192644284923612345678901234567"})
		vote(t, u.hub, hub.Vote{Proposal: ended, Voter: hub.Voter(fmt.Sprint(n)), Choice: "3", Created: time.Now().Add(-48 * time.Hour)})
	}
	u.hub.Finalize(ended, nil)
	u.tally.Switch(func(s *tally.Switches) { s.Key = "tally-s3cret" })
	u.tally.AddOrganization("harbor", "Harbor", 6)
	var ids []string
	for n := range 25 {
		ids = append(ids, u.tally.Propose("harbor", fmt.Sprint("Proposal ", n), time.Hour))
		u.tally.Vote(ids[n], "0xAA", "for", "1500000")
		u.tally.Vote(ids[n], "0xBB", "against", "1")
		if n < 20 {
			u.tally.SetStatus(ids[n], "executed")
		}
	}
	u.forum.AddCategory("Proposals", 0)
	u.forum.AddCategory("Grants", 1)
	for n := range 45 {
		topic := u.forum.AddTopic(n%2+1, fmt.Sprint("Topic ", n+1), "ada", "<p>one</p>", "budget")
		u.forum.Like(u.forum.Reply(topic, "bob", "<p>two</p>"), n)
	}
	file, addresses := filepath.Join(t.TempDir(), "sources.yaml"), []any{}
	for _, upstream := range []http.Handler{u.hub, u.tally, u.forum} {
		server := httptest.NewServer(upstream)
		t.Cleanup(server.Close)
		addresses = append(addresses, server.URL)
	}
	writeSources(t, file, fmt.Sprintf("contact: test@example.org\nsnapshot: {url: %s/graphql, requestsPerMinute: 6000}\n"+
		"tally: {url: %s/query, apiKey: \"${TALLY_KEY}\", requestsPerMinute: 6000}\nforums:\n  "+forumHost+": {url: %s, requestsPerMinute: 6000}\n"+
		"daos:\n- {id: harbor, name: Harbor, snapshot: [harbor.eth], tally: [harbor], forums: ["+forumHost+"]}\n", addresses...))
	i := startShared(t, []string{"PNYX_SOURCES=" + file, "TALLY_KEY=tally-s3cret"}, "serve").ready()
	env.Until(t, func() error { return u.differ(i) })

	i.Stop()
	vote(t, u.hub, hub.Vote{Proposal: open, Voter: hub.Voter("late"), Choice: "2", Created: time.Now().Add(-5 * 24 * time.Hour)})
	u.tally.SetStatus(ids[23], "canceled")
	u.tally.Vote(u.tally.Propose("harbor", "New", time.Hour), "0xDD", "abstain", "9")
	u.tally.Vote(ids[24], "0xEE", "for", "2500000")
	u.forum.AddTopic(1, "New", "eve", "<p>new</p>", "grants")
	u.forum.Reply(1, "eve", "<p>three</p>")
	u.forum.Retitle(40, "Renamed") // on the first page of latest activity: older ones are read again within the hour
	u.forum.Move(41, 2)
	u.forum.Tag(42, "season-2")
	i.Start()
	env.Within(t, 10*time.Minute, func() error { return u.differ(i) }) // some pollers look once a minute
}
