package drills

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
)

// world is the data that all drills begin with, and what is true of it.
type world struct {
	// withClock and clockLibrary are built by the first drill that needs them.
	withClock, clockLibrary string
	// data is a warehouse's folder, copied for each drill.
	data string
	// token opens everything.
	token string
	// free, paid and cold are questions whose answers do not change: of nobody's
	// concern, for a token, and of pages that are made when they are asked for.
	free, paid, cold []question
	// priced are questions of the tier that payers ask.
	priced []question
	poll   poll
}

// question is a path and the one right answer to it.
type question struct {
	path string
	data json.RawMessage
	// next is the cursor of the next page.
	next string
}

// theWorld is made once, by the first test that needs it.
var theWorld struct {
	once sync.Once
	made *world
	dir  string
}

func makeWorld(tb testing.TB) *world {
	tb.Helper()
	theWorld.once.Do(func() {
		dir, err := os.MkdirTemp("", "pnyx-drills-") //nolint:usetesting // it outlives the test that is first
		if err != nil {
			tb.Fatal(err)
		}
		theWorld.dir = dir
		w := &world{data: filepath.Join(dir, "warehouse")}
		w.fill(tb, dir)
		theWorld.made = w
	})
	if theWorld.made == nil {
		tb.Fatal("there is no data to drill with, see the first test")
	}
	return theWorld.made
}

// binaryWithClock is a pnyx whose clock can be set.
func (w *world) binaryWithClock(tb testing.TB) string {
	tb.Helper()
	if w.withClock == "" {
		w.withClock = buildWithClock(tb, filepath.Dir(w.data))
	}
	return w.withClock
}

// libraryClock is what gives other programs a clock that can be set.
func (w *world) libraryClock(tb testing.TB) string {
	tb.Helper()
	if w.clockLibrary == "" {
		w.clockLibrary = buildLibraryClock(tb, filepath.Dir(w.data))
	}
	return w.clockLibrary
}

// fill imports an invented data set and the poll, and takes down what a node says of
// it while nothing disturbs it.
func (w *world) fill(tb testing.TB, dir string) {
	tb.Helper()
	set := filepath.Join(dir, "set")
	env.MustRun(tb, nil, "generate", "--now", "2026-06-01T00:00:00Z", "--daos", "8", "--proposals", "100",
		"--ballots", "8000", "--largest", "3000", set)
	s := newStage(tb, w, stageOptions{})
	s.importFiles(set)
	s.importLines(pollLines...)
	_, w.token = s.issue()
	s.open()
	s.chronicled()
	w.learn(tb, s.apis[0])
	s.close()
	if err := os.CopyFS(w.data, os.DirFS(s.data)); err != nil {
		tb.Fatal(err)
	}
}

// issue makes a token that opens everything.
func (s *stage) issue() (id, token string) {
	s.tb.Helper()
	var issued struct{ ID, Token string }
	out := env.MustRun(s.tb, s.environ, "token", "issue", "--name", "drills", "--plan", "custom", "--scopes", "v2:paid:*",
		"--limits", "900000000,600000,200000,600000,200000", "--json")
	if err := json.Unmarshal([]byte(out), &issued); err != nil {
		s.tb.Fatal(err)
	}
	return issued.ID, issued.Token
}

// learn asks everything that drills will ask. The DAO of the poll is left out, as
// what is said of it changes.
func (w *world) learn(tb testing.TB, api *node) {
	tb.Helper()
	l := learner{tb: tb, world: w, api: api}
	l.ask(&w.free, "/v2/daos?hasForumData=true&limit=100")
	l.ask(&w.free, "/v2/meta/pricing")
	var daos []struct{ DAOID string }
	l.list("/v2/daos?limit=100", &daos)
	for _, dao := range daos {
		if dao.DAOID != pollDAO {
			l.dao(dao.DAOID)
		}
	}
	w.poll.learn(&l)
}

// learner takes down the right answers.
type learner struct {
	tb    testing.TB
	world *world
	api   *node
	seen  map[string]bool
}

// ask takes down the answer to a path, and returns it.
func (l *learner) ask(among *[]question, path string) question {
	l.tb.Helper()
	var q question
	env.Within(l.tb, 30*time.Second, func() error {
		r := ask(l.api.base+path, l.world.headers())
		if r.transport != nil || r.status != http.StatusOK || r.Meta.Readiness.Status == "stale" {
			return fmt.Errorf("GET %s: %d %w %s", path, r.status, r.transport, r.text)
		}
		q = question{path: path, data: r.Data}
		if r.Meta.Page != nil && r.Meta.Page.NextCursor != nil {
			q.next = *r.Meta.Page.NextCursor
		}
		return nil
	})
	if among != nil {
		*among = append(*among, q)
	}
	return q
}

// list decodes what a path answers.
func (l *learner) list(path string, rows any) {
	l.tb.Helper()
	if err := json.Unmarshal(l.ask(nil, path).data, rows); err != nil {
		l.tb.Fatal(err)
	}
}

// dao takes down everything about a DAO.
func (l *learner) dao(id string) {
	l.tb.Helper()
	w, of := l.world, "daoId="+url.QueryEscape(id)
	l.ask(&w.free, "/v2/daos/"+id)
	l.ask(&w.free, "/v2/meta/data-status?"+of)
	for _, metric := range []string{"proposals_created", "votes_cast"} {
		l.ask(&w.paid, "/v2/daos/"+id+"/timeline?metric="+metric)
	}
	l.ask(&w.paid, "/v2/daos/"+id+"/voters")
	l.ask(&w.paid, "/v2/forum-topics?"+of)
	l.ask(&w.paid, "/v2/events?"+of+"&from=2026-03-10&to=2026-06-01")
	l.ask(&w.paid, "/v2/signals?"+of+"&from=2026-03-10&to=2026-06-01")
	l.ask(&w.priced, "/v2/proposals?"+of+"&limit=5")
	for _, order := range []string{"updatedDesc", "createdDesc", "endingSoon"} {
		l.walk("/v2/proposals?"+of+"&limit=4&sort="+order, 3)
	}
	l.walk("/v2/daos/"+id+"/voters?limit=20", 5)
	var proposals []struct{ ProposalKey string }
	l.list("/v2/proposals?"+of+"&limit=4", &proposals)
	for _, proposal := range proposals {
		l.proposal("/v2/proposals/" + proposal.ProposalKey)
	}
}

// proposal takes down everything about a proposal, and some of its voters.
func (l *learner) proposal(path string) {
	l.tb.Helper()
	w := l.world
	for _, part := range []string{"", "/votes/summary", "/votes", "/evidence"} {
		l.ask(&w.paid, path+part)
	}
	l.walk(path+"/votes?order=time&limit=30", 3)
	l.walk(path+"/votes?order=power&limit=50", 3)
	var ballots []struct{ VoterIdentity string }
	l.list(path+"/votes?limit=5", &ballots)
	for _, ballot := range ballots {
		l.voter("/v2/voters/" + url.PathEscape(ballot.VoterIdentity))
	}
}

// voter takes down what is known of a voter, once. The pages of voters are made when
// they are asked for.
func (l *learner) voter(path string) {
	l.tb.Helper()
	if l.seen[path] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[path] = true
	l.ask(&l.world.cold, path)
	l.ask(&l.world.cold, path+"/votes?limit=20")
}

// walk takes down the pages of a list, up to a number of them.
func (l *learner) walk(path string, pages int) {
	l.tb.Helper()
	for at := path; pages > 0; pages-- {
		q := l.ask(&l.world.cold, at)
		if q.next == "" {
			return
		}
		at = path + "&cursor=" + url.QueryEscape(q.next)
	}
}

// String says how many questions there are.
func (w *world) String() string {
	return strings.Join([]string{
		strconv.Itoa(len(w.free)) + " free", strconv.Itoa(len(w.paid)) + " with a token",
		strconv.Itoa(len(w.cold)) + " cold",
	}, ", ")
}

// tokenHeader carries a token.
const tokenHeader = "X-Service-Api-Token"

// headers are those of a caller with the token.
func (w *world) headers() map[string]string { return withToken(w.token) }

func withToken(token string) map[string]string { return map[string]string{tokenHeader: token} }
