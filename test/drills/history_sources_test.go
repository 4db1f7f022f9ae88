package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/histories"
	"pnyx/test/upstream/forum"
	"pnyx/test/upstream/hub"
)

const (
	// liveRecords is the number of voters, and of topics, whose states change.
	liveRecords = 8
	// liveThink bounds the time between two changes, and between two looks.
	liveThink = 2 * time.Second
	// liveTimeout bounds the wait for the last states: pollers poll once a minute, later after errors.
	liveTimeout   = 4 * time.Minute
	liveForumHost = "forum.harbor.example"
)

// liveSources are a hub and a forum that two processes follow. The state of a record is a number that grows, by
// votes again and by replies.
type liveSources struct {
	hub        *hub.Hub
	forum      *forum.Forum
	ways       []*gateway
	followers  []*node
	proposal   string
	votes      string
	topics     []int
	mu         sync.Mutex
	states     map[string]int
	topicsPath string
}

// followSources makes the systems and prepares their followers.
func (r *historyRun) followSources() *liveSources {
	r.tb.Helper()
	const dao, space = "harbor", "harbor.eth"
	l := &liveSources{
		hub: hub.New(nil), forum: forum.New(time.Now), states: map[string]int{}, topicsPath: "/v2/forum-topics?limit=100&daoId=" + dao,
	}
	l.hub.AddSpace(hub.Space{ID: space, Name: "Harbor", Network: "1", Symbol: "HRB"})
	now := time.Now()
	l.proposal = l.hub.Propose(hub.Proposal{
		Space: space, Title: "Renew the harbor", Choices: []string{"Yes", "No"},
		Created: now.Add(-time.Hour), Start: now.Add(-time.Hour), End: now.Add(48 * time.Hour),
	})
	identity := governance.Identity{DAOID: dao, Provider: governance.Snapshot, ExternalID: l.proposal}
	l.votes = "/v2/proposals/" + string(identity.ProposalKey()) + "/votes?limit=100"
	category := l.forum.AddCategory("Proposals", 0)
	for n := range liveRecords {
		l.topics = append(l.topics, l.forum.AddTopic(category, fmt.Sprint("Topic ", n), "ada", "<p>one</p>"))
	}
	l.ways = []*gateway{newGateway(r.tb, "the hub", l.hub), newGateway(r.tb, "the forum", l.forum)}
	file := filepath.Join(r.dir, "sources.yaml")
	text := fmt.Sprintf(`contact: history@example.org
snapshot: {url: %s/graphql, requestsPerMinute: 6000}
forums: {%s: {url: %s, requestsPerMinute: 6000}}
daos:
- {id: %s, name: Harbor, snapshot: [%s], forums: [%s]}
`, l.ways[0].url, liveForumHost, l.ways[1].url, dao, space, liveForumHost)
	env.MustDo(r.tb, os.WriteFile(file, []byte(text), 0o600))
	for range 2 {
		l.followers = append(l.followers, r.node("follow",
			"PNYX_SOURCES="+file, "PNYX_LEASE_TTL=5s", "CLICKHOUSE_URL="+r.warehouseURL(r.workerToEngine.addr())))
	}
	return l
}

// start gives every record its first state, and waits until that is shown.
func (l *liveSources) start(r *historyRun) {
	r.tb.Helper()
	for _, topic := range l.topics {
		l.note(r, topicRecord(topic), 1, r.recorder.Now())
	}
	for n := range liveRecords {
		l.vote(r, n)
	}
	for _, follower := range l.followers {
		follower.Start()
	}
	for _, follower := range l.followers {
		follower.ready()
	}
	l.settle(r)
}

func topicRecord(id int) string { return fmt.Sprint("topic ", id) }

// voterRecord names the record of a voter as answers do.
func voterRecord(address string) string { return "voter " + strings.ToLower(address) }

// state is the last state of a record.
func (l *liveSources) state(of string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[of]
}

// note records that a record was given a state.
func (l *liveSources) note(r *historyRun, of string, state int, called time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[of] = state
	r.recorder.Add(histories.Operation{
		Kind: histories.Change, Subject: of, Casts: state, Call: called, Return: r.recorder.Now(), Status: http.StatusOK,
	})
}

// vote lets a voter vote again with one more vote than before, which the hub may refuse.
func (l *liveSources) vote(r *historyRun, n int) {
	voter := hub.Voter(strconv.Itoa(n))
	of, called := voterRecord(voter), r.recorder.Now()
	next := l.state(of) + 1
	_, err := l.hub.Cast(hub.Vote{Proposal: l.proposal, Voter: voter, Choice: strconv.Itoa(1 + next%2), Power: strconv.Itoa(next)})
	switch {
	case err == nil:
		l.note(r, of, next, called)
	case !errors.Is(err, hub.ErrVotedLater): // twice in a second: half of the time
		r.tb.Error(err)
	}
}

// change changes a record.
func (l *liveSources) change(r *historyRun, random *rand.Rand, _ int) {
	if n := random.IntN(liveRecords); random.IntN(2) == 0 {
		l.vote(r, n)
	} else {
		of, called := topicRecord(l.topics[n]), r.recorder.Now()
		l.forum.Reply(l.topics[n], "eve", "<p>again</p>")
		l.note(r, of, l.state(of)+1, called)
	}
	wait(r.ctx, time.Duration(random.Int64N(int64(liveThink))))
}

// look reads all records from one place.
func (l *liveSources) look(r *historyRun, random *rand.Rand, client int) {
	node, base := r.choose(random)
	l.read(r, node, base, client)
	wait(r.ctx, time.Duration(random.Int64N(int64(liveThink))))
}

// read reads all records from a node, and returns the states that it shows.
func (l *liveSources) read(r *historyRun, node, base string, client int, statuses ...int) map[string]int {
	shown := map[string]int{}
	for path, statesIn := range map[string]func([]byte) (map[string]int, error){l.votes: votesIn, l.topicsPath: topicsIn} {
		called, states := r.recorder.Now(), map[string]int{}
		a := r.request(histories.Operation{Kind: histories.Request, Client: client, Node: node, Path: path}, base, r.dataset.headers(),
			func(a *reply, _ *histories.Operation) (err error) { states, err = statesIn(a.Data); return err }, statuses...)
		if a.transport != nil || a.status != http.StatusOK {
			continue
		}
		returned := r.recorder.Now()
		for of, state := range states {
			r.recorder.Add(histories.Operation{
				Kind: histories.Show, Client: client, Node: node, Path: path, Subject: of, Casts: state, Status: http.StatusOK,
				Call: called, Return: returned, AsOf: []int64{a.Meta.DataAsOf.Time().UnixMilli()},
			})
		}
		maps.Copy(shown, states)
	}
	return shown
}

// votesIn returns the states of the voters of a page of ballots.
func votesIn(data []byte) (map[string]int, error) {
	var rows []struct{ VoterIdentity, VotingPower string }
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, err
	}
	states := map[string]int{}
	for _, row := range rows {
		state, err := strconv.Atoi(row.VotingPower)
		if err != nil {
			return nil, err
		}
		states[voterRecord(row.VoterIdentity)] = state
	}
	return states, nil
}

// topicsIn returns the states of the topics of a page: their numbers of posts.
func topicsIn(data []byte) (map[string]int, error) {
	var rows []governance.ForumTopic
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, err
	}
	states := map[string]int{}
	for i := range rows {
		posts, err := strconv.Atoi(string(rows[i].Posts))
		if err != nil {
			return nil, err
		}
		states["topic "+rows[i].Identity.ExternalID] = posts
	}
	return states, nil
}

// settle reads until every node shows the last states. The model judges what was read last.
func (l *liveSources) settle(r *historyRun) {
	r.tb.Helper()
	l.mu.Lock()
	want := maps.Clone(l.states)
	l.mu.Unlock()
	agree := false
	for end := time.Now().Add(liveTimeout); !agree && time.Now().Before(end); wait(r.ctx, time.Second/4) {
		agree = true
		for n, node := range r.apis {
			shown := l.read(r, fmt.Sprint("api", n), node.base, -1, http.StatusNotFound)
			agree = agree && maps.Equal(shown, want)
		}
	}
}

// sourceFaults break followers, and the ways to what they follow.
func sourceFaults() []historyFault {
	followers := func(r *historyRun) []*node { return r.live.followers }
	faults := []historyFault{
		ofOne("a follower is killed", 6*time.Second, followers, (*node).Kill, (*node).Start),
		ofOne("a follower hangs", 14*time.Second, followers, (*node).Pause, (*node).Resume),
	}
	for way, name := range []string{"the hub", "the forum"} {
		for _, outage := range outages() {
			faults = append(faults, breakage(name+" "+outage.name, 8*time.Second, func(r *historyRun, _ *rand.Rand) func() {
				r.live.ways[way].fail(outage.answer)
				return func() { r.live.ways[way].fail(nil) }
			}))
		}
	}
	return faults
}
