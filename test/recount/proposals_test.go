package recount_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

// The list of proposals under a hundred combinations of filters and orders, and every proposal by each of its
// identifiers, are compared with a recount of upstream's own files.
func TestProposalListsOfRealDataEqualARecount(t *testing.T) {
	dir := realData(t)
	i := startEmpty(t)
	i.Import(dir)
	l := env.Must(listingOf(i, dir))(t)
	i.AwaitPublished()
	t.Run("a hundred combinations of filters", l.checkFilters)
	t.Run("every proposal is found by what it is known by", l.checkResolve)
}

// listing is the running service and the proposals that it must list.
type listing struct {
	*env.Pnyx
	proposals []listedPoll
}

// listedPoll is a proposal with the fields that lists filter and sort by.
type listedPoll struct {
	*poll
	key                 string
	space               string
	lifecycle, outcome  string
	item                json.RawMessage
	createdAt, updateAt *time.Time
}

// listItem is a row as the list shows it.
type listItem struct {
	ProposalKey     string  `json:"proposalKey"`
	Identity        any     `json:"identity"`
	Title           *string `json:"title"`
	SourceURL       *string `json:"sourceUrl"`
	LifecycleStatus string  `json:"lifecycleStatus"`
	Outcome         string  `json:"outcome"`
	EndAt           *string `json:"endAt"`
	StartAt         *string `json:"startAt"`
	CreatedAt       *string `json:"createdAt"`
	ProposerID      *string `json:"proposerId"`
	CoverageStatus  any     `json:"coverageStatus"`
}

// listingOf computes the expected list.
func listingOf(i *env.Pnyx, dir string) (*listing, error) {
	now := time.Now()
	want, err := recountOf(dir, now, nil)
	if err != nil {
		return nil, err
	}
	spaces, err := spacesOf(dir)
	l := &listing{Pnyx: i}
	for key, p := range want.polls {
		if p.spam {
			continue
		}
		of := p.provider + " " + p.externalID
		lp := listedPoll{
			poll: p, key: key, space: spaces[of], lifecycle: p.lifecycle(now), outcome: p.outcome(now, want.results[key]),
			createdAt: cmp.Or(p.created, p.start), updateAt: p.changed(now),
		}
		path := "/v2/proposals/" + key
		lp.item = encoded(listItem{
			ProposalKey: key, Identity: want.answers[path]["identity"], Title: p.title, SourceURL: p.link,
			LifecycleStatus: lp.lifecycle, Outcome: lp.outcome, EndAt: stamp(p.end),
			StartAt: stamp(p.start), CreatedAt: stamp(lp.createdAt), ProposerID: proposerOf(p),
			CoverageStatus: want.answers[path+"/votes/summary"]["coverageStatus"],
		})
		l.proposals = append(l.proposals, lp)
	}
	slices.SortFunc(l.proposals, func(a, b listedPoll) int { return cmp.Compare(a.key, b.key) })
	return l, err
}

// proposerOf is the identity of the proposer; nil for none.
func proposerOf(p *poll) *string {
	if proposer := identity(text(p.proposer)); proposer != "" {
		return &proposer
	}
	return nil
}

// spacesOf reads the space or organization of each proposal.
func spacesOf(dir string) (spaces map[string]string, err error) {
	spaces = map[string]string{}
	proposals, err := readLines[snapshotProposal](dir, "snapshot", "proposals.ndjson.gz")
	for _, p := range proposals {
		spaces["snapshot "+p.ID] = p.Space.ID
	}
	governors, unread := readLines[tallyProposal](dir, "tally", "proposals.ndjson.gz")
	for _, p := range governors {
		spaces["tally "+p.ID] = p.Organization.Slug
	}
	return spaces, cmp.Or(err, unread)
}

// listQuestion is one request for a list.
type listQuestion struct {
	query   url.Values
	lets    func(listedPoll) bool
	compare func(a, b listedPoll) int
	limit   int
}

func (l *listing) checkFilters(t *testing.T) {
	dice := rand.New(rand.NewPCG(20, 26))
	var jobs []func() error
	rows := 0
	for range 100 {
		q := l.ask(dice)
		var want []json.RawMessage
		for _, p := range slices.SortedFunc(slices.Values(l.proposals), q.compare) {
			if q.lets(p) {
				want = append(want, p.item)
			}
		}
		if rows += len(want); len(want) > 40*q.limit {
			q.limit = 100
		}
		jobs = append(jobs, func() error { return l.CheckList("/v2/proposals?"+q.query.Encode(), q.limit, want) })
	}
	concurrently(t, jobs)
	t.Logf("%d rows in 100 walks", rows)
	if rows < 10_000 {
		t.Errorf("got %d rows in all, want more to compare", rows)
	}
}

// ask returns a random request, with filters of an existing proposal, so that some lists have rows.
func (l *listing) ask(dice *rand.Rand) listQuestion {
	q := listQuestion{query: url.Values{}, limit: []int{1, 7, 25, 99, 100}[dice.IntN(5)]}
	about := l.proposals[dice.IntN(len(l.proposals))]
	var conditions []func(listedPoll) bool
	add := func(name, value string, condition func(listedPoll) bool) {
		if dice.IntN(4) == 0 {
			q.query.Set(name, value)
			conditions = append(conditions, condition)
		}
	}
	proposer := identity(text(about.proposer))
	add("daoId", about.daoID, func(p listedPoll) bool { return p.daoID == about.daoID })
	add("provider", about.provider, func(p listedPoll) bool { return p.provider == about.provider })
	if proposer != "" {
		add("proposerId", strings.ToUpper(proposer), func(p listedPoll) bool { return identity(text(p.proposer)) == proposer })
	}
	states := [][]string{{"closed"}, {"active", "pending"}, {"closed", "active"}}[dice.IntN(3)]
	add("lifecycleStatus", strings.Join(states, ","), func(p listedPoll) bool { return slices.Contains(states, p.lifecycle) })
	outcomes := [][]string{{"passed"}, {"failed", "executed"}, {"unknown", "canceled"}}[dice.IntN(3)]
	add("outcome", strings.Join(outcomes, ","), func(p listedPoll) bool { return slices.Contains(outcomes, p.outcome) })
	if window := l.window(dice, about, q.query); window != nil {
		conditions = append(conditions, window)
	}
	q.compare = listOrder(dice.IntN(4), q.query)
	q.lets = func(p listedPoll) bool {
		return !slices.ContainsFunc(conditions, func(holds func(listedPoll) bool) bool { return !holds(p) })
	}
	return q
}

// window bounds a time around a proposal's, from one side or both.
func (l *listing) window(dice *rand.Rand, about listedPoll, query url.Values) func(listedPoll) bool {
	fields := map[string]func(listedPoll) *time.Time{
		"createdAt": func(p listedPoll) *time.Time { return p.createdAt },
		"startAt":   func(p listedPoll) *time.Time { return p.start },
		"endAt":     func(p listedPoll) *time.Time { return p.end },
		"updatedAt": func(p listedPoll) *time.Time { return p.updateAt },
	}
	field := slices.Sorted(maps.Keys(fields))[dice.IntN(4)]
	at := fields[field](about)
	if at == nil || dice.IntN(2) == 0 {
		return nil
	}
	from, days := at.Truncate(time.Second), time.Duration(1+dice.IntN(365))*24*time.Hour
	to := from.Add(days)
	switch dice.IntN(3) {
	case 0:
		to = from.Add(365 * 24 * time.Hour)
		query.Set("from", from.Format(time.RFC3339))
	case 1:
		from = to.Add(-365 * 24 * time.Hour)
		query.Set("to", to.Format(time.RFC3339))
	default:
		query.Set("from", from.Format(time.RFC3339))
		query.Set("to", to.Format(time.RFC3339))
	}
	if field != "updatedAt" || dice.IntN(2) == 0 {
		query.Set("timeField", field)
	}
	return func(p listedPoll) bool {
		at := fields[field](p)
		return at != nil && !at.Before(from) && at.Before(to)
	}
}

// listOrder returns one of the orders; the fourth is the default order.
func listOrder(n int, query url.Values) func(a, b listedPoll) int {
	if n < 3 {
		query.Set("sort", []string{"createdDesc", "endingSoon", "updatedDesc"}[n])
	}
	switch n {
	case 0:
		return func(a, b listedPoll) int {
			return cmp.Or(newestFirst(a.createdAt, b.createdAt), cmp.Compare(b.key, a.key))
		}
	case 1:
		return endingSoon
	}
	return func(a, b listedPoll) int {
		return cmp.Or(newestFirst(a.updateAt, b.updateAt), cmp.Compare(b.key, a.key))
	}
}

// endingSoon puts active before pending, the soonest end first, before closed ones, the latest end first.
func endingSoon(a, b listedPoll) int {
	rank := []string{"active", "pending", "closed"}
	first := cmp.Compare(slices.Index(rank, a.lifecycle), slices.Index(rank, b.lifecycle))
	if a.lifecycle == "closed" {
		return cmp.Or(first, newestFirst(a.end, b.end), cmp.Compare(b.key, a.key))
	}
	soonest := newestFirst(b.end, a.end)
	if (a.end == nil) != (b.end == nil) {
		soonest = -soonest
	}
	return cmp.Or(first, soonest, cmp.Compare(a.key, b.key))
}

// candidate holds the compared fields of a candidate of the resolver.
type candidate struct {
	ProposalKey string `json:"proposalKey"`
	Match       struct {
		Type          string   `json:"type"`
		MatchedFields []string `json:"matchedFields"`
	} `json:"match"`
}

func (l *listing) checkResolve(t *testing.T) {
	sameTitle := map[string]int{}
	for _, p := range l.proposals {
		sameTitle[foldedTitle(p)]++
	}
	var jobs []func() error
	for n, p := range l.proposals {
		jobs = append(jobs, func() error {
			forms := addressesOf(p)
			// All forms of some proposals; of the others one each, in turn.
			if n%8 > 0 {
				forms = forms[n%len(forms):][:1]
			}
			for _, form := range forms {
				if err := l.resolves("url", form, "url_exact", p.key, 1); err != nil {
					return err
				}
			}
			if err := l.resolves("externalId", p.externalID, "external_id_exact", p.key, 1); err != nil {
				return err
			}
			if p.title == nil {
				return nil
			}
			return l.resolves("title", strings.ToUpper(*p.title), "title_exact", p.key, sameTitle[foldedTitle(p)])
		})
	}
	concurrently(t, jobs)
}

func foldedTitle(p listedPoll) string {
	return strings.Join(strings.Fields(strings.ToLower(text(p.title))), " ")
}

// addressesOf returns the URL forms that link a proposal.
func addressesOf(p listedPoll) []string {
	if p.provider == "tally" {
		own := "tally.xyz/gov/" + p.space + "/proposal/" + p.externalID
		return []string{*p.link, "http://" + own, "https://www." + own + "/?utm_source=x", strings.Replace(*p.link, "www.", "", 1) + "?govId=eip155:1:0x0"}
	}
	route := p.space + "/proposal/" + p.externalID
	return []string{
		*p.link, "https://snapshot.org/#/" + route, "https://snapshot.box/#/s:" + route, "https://snapshot.page/#/" + route + "/",
		"snapshot.org/?ref=mail#/" + p.space + "/" + p.externalID, "HTTP://WWW.SNAPSHOT.ORG/#/" + url.PathEscape(p.space) + "/proposal/" + p.externalID + "?utm_medium=y",
	}
}

// resolves looks one parameter up and checks that a proposal is among the matches of a type.
func (l *listing) resolves(parameter, value, match, key string, matches int) error {
	path := "/v2/proposals/resolve?limit=20&" + parameter + "=" + url.QueryEscape(value)
	var data struct {
		Candidates []candidate `json:"candidates"`
	}
	if _, err := l.Read(path, &data); err != nil {
		return err
	}
	there, found := false, 0
	for _, c := range data.Candidates {
		if c.Match.Type == match {
			found++
			there = there || c.ProposalKey == key
		}
	}
	if !there || found != matches {
		return fmt.Errorf("GET %s: got %d candidates by %s, with %s: %t, want %d with it", path, found, match, key, there, matches)
	}
	return nil
}
