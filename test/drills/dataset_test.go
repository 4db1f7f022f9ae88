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

const drillBallots = 8000

// dataset is the data that all drills begin with, and the right answers about it.
type dataset struct {
	// data is a warehouse's folder, copied for each drill.
	data string
	// ballots is about how many are in it, before the ballots of the poll.
	ballots int
	// token has all scopes.
	token string
	// free, paid and cold are questions whose answers do not change, cold ones for pages made on demand.
	free, paid, cold []question
	// priced are questions of the tier that payers ask.
	priced []question
	poll   poll
	// earlier says that the answers are an earlier version's.
	earlier bool
}

// question is a path and the one right answer to it.
type question struct {
	path string
	data json.RawMessage
	// next is the cursor of the next page.
	next string
	// earlier answers are of an earlier version: a later one may add to objects, and has other cursors.
	earlier bool
	// later is the first answer of this version that differs from the earlier one's on purpose; or nil.
	later *laterAnswer
}

// laterAnswer is what this version answers with where an earlier one answered otherwise.
type laterAnswer struct {
	mu   sync.Mutex
	data any
}

// check reports an answer that is neither the earlier one nor, but for additions, this version's.
func (l *laterAnswer) check(path string, want, got any) error {
	diff := env.DiffJSON(want, got)
	// Rows of the feed follow one by one, and dossiers follow the proposals that they are compared with.
	if diff == "" || strings.HasPrefix(path, "/v2/events") || strings.HasPrefix(path, "/v2/signals") || strings.HasSuffix(path, "/evidence") {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.data == nil {
		l.data = got
	}
	if env.DiffJSON(l.data, got) != "" {
		return fmt.Errorf("-earlier version +now:\n%s\n-this version before +now:\n%s", diff, env.DiffJSON(l.data, got))
	}
	return nil
}

// sharedDataset is made once, by the first test that needs it.
var sharedDataset struct {
	once sync.Once
	made *dataset
	dir  string
}

func loadDataset(tb testing.TB) *dataset {
	tb.Helper()
	sharedDataset.once.Do(func() {
		dir, err := os.MkdirTemp("", "pnyx-drills-") //nolint:usetesting // it outlives the test that is first
		if err != nil {
			tb.Fatal(err)
		}
		sharedDataset.dir = dir
		w := &dataset{data: filepath.Join(dir, "warehouse"), ballots: drillBallots}
		w.fill(tb, dir)
		sharedDataset.made = w
	})
	if sharedDataset.made == nil {
		tb.Fatal("there is no data to drill with, see the first test")
	}
	return sharedDataset.made
}

// fill imports a generated data set and the poll, and records the answers of an undisturbed node.
func (w *dataset) fill(tb testing.TB, dir string) {
	tb.Helper()
	set := filepath.Join(dir, "set")
	env.MustRun(tb, nil, "generate", "--now", "2026-06-01T00:00:00Z", "--daos", "8", "--proposals", "100",
		"--ballots", strconv.Itoa(w.ballots), "--largest", strconv.Itoa(w.ballots*3/8), set)
	s := newDeployment(tb, w, deploymentOptions{})
	s.importFiles(set)
	s.importLines(pollLines...)
	_, w.token = s.issue()
	s.open()
	s.awaitFeed()
	w.record(tb, s.apis[0])
	s.close()
	env.MustDo(tb, os.CopyFS(w.data, os.DirFS(s.data)))
}

func (s *deployment) issue() (id, token string) {
	s.tb.Helper()
	var issued struct{ ID, Token string }
	out := s.must("token", "issue", "--name", "drills", "--plan", "custom", "--scopes", "v2:paid:*",
		"--limits", "900000000,600000,200000,600000,200000", "--json")
	env.Decode(s.tb, []byte(out), &issued)
	return issued.ID, issued.Token
}

// record records the answers to everything that drills will ask, but about the DAO of the poll.
func (w *dataset) record(tb testing.TB, api *node) {
	tb.Helper()
	l := recorder{tb: tb, dataset: w, api: api}
	l.ask(&w.free, "/v2/daos?hasForumData=true&limit=100")
	if !w.earlier { // another version has other routes
		l.ask(&w.free, "/v2/meta/pricing")
	}
	var daos []struct{ DAOID string }
	l.list("/v2/daos?limit=100", &daos)
	for _, dao := range daos {
		if dao.DAOID != pollDAO {
			l.dao(dao.DAOID)
		}
	}
	w.poll.learn(&l)
}

type recorder struct {
	tb      testing.TB
	dataset *dataset
	api     *node
	seen    map[string]bool
}

func (l *recorder) ask(among *[]question, path string) question {
	l.tb.Helper()
	var q question
	env.Within(l.tb, 30*time.Second, func() error {
		r := ask(l.api.base+path, l.dataset.headers())
		if r.transport != nil || r.status != http.StatusOK || r.Meta.Readiness.Status == "stale" || r.dossierPends() {
			return fmt.Errorf("GET %s: %d %w %s", path, r.status, r.transport, r.text)
		}
		q = question{path: path, data: r.Data, earlier: l.dataset.earlier, later: &laterAnswer{}}
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
func (l *recorder) list(path string, rows any) {
	l.tb.Helper()
	env.MustDo(l.tb, json.Unmarshal(l.ask(nil, path).data, rows))
}

func (l *recorder) dao(id string) {
	l.tb.Helper()
	w, of := l.dataset, "daoId="+url.QueryEscape(id)
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

// proposal records everything about a proposal, and some of its voters.
func (l *recorder) proposal(path string) {
	l.tb.Helper()
	w := l.dataset
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

// voter records the pages of a voter, once. They are made on demand.
func (l *recorder) voter(path string) {
	l.tb.Helper()
	if l.seen[path] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[path] = true
	l.ask(&l.dataset.cold, path)
	l.ask(&l.dataset.cold, path+"/votes?limit=20")
}

// walk records up to a number of pages of a list.
func (l *recorder) walk(path string, pages int) {
	l.tb.Helper()
	if l.dataset.earlier {
		pages = 1 // cursors are of one version
	}
	for at := path; pages > 0; pages-- {
		q := l.ask(&l.dataset.cold, at)
		if q.next == "" {
			return
		}
		at = path + "&cursor=" + url.QueryEscape(q.next)
	}
}

// String counts the questions of each kind.
func (w *dataset) String() string {
	return strings.Join([]string{
		strconv.Itoa(len(w.free)) + " free", strconv.Itoa(len(w.paid)) + " with a token",
		strconv.Itoa(len(w.cold)) + " cold",
	}, ", ")
}

const tokenHeader = "X-Service-Api-Token"

func (w *dataset) headers() map[string]string { return withToken(w.token) }

func withToken(token string) map[string]string { return map[string]string{tokenHeader: token} }
