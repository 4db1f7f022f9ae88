package recount_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// historyRow is a vote in a voter's history.
type historyRow struct {
	Proposal        votedProposal `json:"proposal"`
	ChoiceKey       *string       `json:"choiceKey"`
	Choice          ballotLabel   `json:"choice"`
	Invalid         bool          `json:"invalid"`
	VotingPower     string        `json:"votingPower"`
	VotedAt         *string       `json:"votedAt"`
	TransactionHash *string       `json:"transactionHash"`
}

type votedProposal struct {
	ProposalKey string  `json:"proposalKey"`
	Title       *string `json:"title"`
	Flagged     bool    `json:"flagged,omitempty"`
}

// voted is a ballot and the proposal it is on.
type voted struct {
	cast
	key string
	on  *poll
}

// votesOf collects every voter's votes, the newest first and those without a time
// last, equal ones by the proposal's key, descending.
func votesOf(polls map[string]*poll) map[string][]voted {
	all := map[string][]voted{}
	for key, p := range polls {
		for _, b := range p.ballots {
			all[b.voter] = append(all[b.voter], voted{b, key, p})
		}
	}
	for _, votes := range all {
		slices.SortFunc(votes, func(a, b voted) int { return cmp.Or(newestFirst(a.at, b.at), cmp.Compare(b.key, a.key)) })
	}
	return all
}

func (w *walks) historyRows(votes []voted, let func(voted) bool) []json.RawMessage {
	var rows []json.RawMessage
	for _, v := range votes {
		if let(v) {
			rows = append(rows, encoded(historyRow{
				Proposal: votedProposal{v.key, v.on.title, v.on.spam}, ChoiceKey: v.on.choiceKey(v.cast),
				Choice: ballotLabel{v.on.label(v.cast)}, Invalid: v.on.invalid(v.cast),
				VotingPower: decimalText(v.power, places), VotedAt: stamp(v.at), TransactionHash: w.hash(v.cast),
			}))
		}
	}
	return rows
}

// checkVoters checks a thousand random voters, the most active one among them.
func (w *walks) checkVoters(t *testing.T) {
	all := votesOf(w.polls)
	voters := slices.Sorted(maps.Keys(all))
	busiest := slices.MaxFunc(voters, func(a, b string) int { return cmp.Compare(len(all[a]), len(all[b])) })
	chance := rand.New(rand.NewPCG(20, 26))
	chance.Shuffle(len(voters), func(a, b int) { voters[a], voters[b] = voters[b], voters[a] })
	voters = append(voters[:min(1000, len(voters))], busiest)
	var jobs []func() error
	for n, voter := range voters {
		asked := voter
		if hex, is := strings.CutPrefix(voter, "0x"); is && n%3 > 0 {
			asked = []string{"", "0x", "0X"}[n%3] + strings.ToUpper(hex)
		}
		jobs = append(jobs, func() error {
			path := "/v2/voters/" + url.PathEscape(asked)
			return cmp.Or(w.checkProfile(path, voter, all[voter]), w.checkHistory(path, all[voter], n%20 == 0 || voter == busiest))
		})
	}
	concurrently(t, jobs)
}

// profile is a voter over all DAOs.
type profile struct {
	VoterIdentity    string       `json:"voterIdentity"`
	VoterName        *string      `json:"voterName"`
	VoterAddress     *string      `json:"voterAddress"`
	DAOCount         string       `json:"daoCount"`
	VoteCount        string       `json:"voteCount"`
	ProposalCount    string       `json:"proposalCount"`
	TotalVotingPower string       `json:"totalVotingPower"`
	DAOs             []profileDAO `json:"daos"`
	DelegatedPower   []struct{}   `json:"delegatedPower"` // of which the files state none
}

type profileDAO struct {
	DAOID            string  `json:"daoId"`
	VoteCount        string  `json:"voteCount"`
	ProposalCount    string  `json:"proposalCount"`
	TotalVotingPower string  `json:"totalVotingPower"`
	FirstVoteAt      *string `json:"firstVoteAt"`
	LastVoteAt       *string `json:"lastVoteAt"`
}

// checkProfile compares the sums of a voter, which leave out ballots on spam.
func (w *walks) checkProfile(path, voter string, votes []voted) error {
	counting := slices.DeleteFunc(slices.Clone(votes), func(v voted) bool { return v.on.spam })
	count, total := strconv.Itoa(len(counting)), new(big.Int)
	want := profile{VoterIdentity: voter, VoterAddress: addressOf(voter), VoteCount: count, ProposalCount: count, DAOs: []profileDAO{}, DelegatedPower: []struct{}{}}
	for _, dao := range slices.Sorted(maps.Keys(w.electorates)) {
		if of := w.electorates[dao][voter]; of != nil {
			total.Add(total, of.power)
			want.DAOs = append(want.DAOs, profileDAO{
				DAOID: dao, VoteCount: strconv.Itoa(of.votes), ProposalCount: strconv.Itoa(of.votes),
				TotalVotingPower: decimalText(of.power, places), FirstVoteAt: stamp(of.first), LastVoteAt: stamp(of.last),
			})
		}
	}
	want.DAOCount, want.TotalVotingPower = strconv.Itoa(len(want.DAOs)), decimalText(total, places)
	var got json.RawMessage
	r, err := w.Read(path, &got)
	if err == nil && !env.SameJSON(got, encoded(want)) {
		err = fmt.Errorf("GET %s (-want +got):\n%s", path, gocmp.Diff(env.Plain(want), env.Plain(got)))
	}
	return cmp.Or(err, r.Meta.Check(true))
}

// checkHistory walks a voter's history, for some voters also with filters and small pages.
func (w *walks) checkHistory(path string, votes []voted, closely bool) error {
	path += "/votes"
	err := w.CheckList(path, 100, w.historyRows(votes, func(voted) bool { return true }))
	if err != nil || !closely {
		return err
	}
	middle := votes[len(votes)/2]
	inDAO := func(v voted) bool { return v.on.daoID == middle.on.daoID }
	err = cmp.Or(
		w.CheckList(path, max(1, min(100, len(votes)/3)), w.historyRows(votes, func(voted) bool { return true })),
		w.CheckList(path+"?daoId="+middle.on.daoID, 100, w.historyRows(votes, inDAO)),
		w.CheckList(path+"?daoId=no-such-dao", 100, nil),
	)
	if err != nil || middle.at == nil {
		return err
	}
	since := func(v voted) bool { return v.at != nil && !v.at.Before(*middle.at) }
	before := func(v voted) bool { return v.at != nil && v.at.Before(*middle.at) }
	from := url.QueryEscape(middle.at.Format(time.RFC3339))
	day := middle.at.Truncate(24 * time.Hour)
	thatDay := func(v voted) bool { return inDAO(v) && v.at != nil && v.at.Truncate(24*time.Hour).Equal(day) }
	return cmp.Or(
		w.CheckList(path+"?from="+from, 25, w.historyRows(votes, since)),
		w.CheckList(path+"?to="+from, 25, w.historyRows(votes, before)),
		w.CheckList(path+"?from="+from+"&to="+from, 25, nil),
		w.CheckList(fmt.Sprintf("%s?daoId=%s&from=%s&to=%s", path, middle.on.daoID, day.Format(time.DateOnly),
			day.AddDate(0, 0, 1).Format(time.DateOnly)), 1, w.historyRows(votes, thatDay)),
	)
}

// months holds a count per month, "YYYY-MM".
type months map[string]int

func (m months) add(at *time.Time) {
	if at != nil {
		m[at.Format("2006-01")]++
	}
}

// onlyMonth is a time in the month that the vote began and ended in; nil where there are two.
func (p *poll) onlyMonth() *time.Time {
	const month = "2006-01"
	if p.start == nil || p.end == nil || p.end.Before(*p.start) || p.start.Format(month) != p.end.Format(month) {
		return nil
	}
	return p.start
}

// buckets are the months from one to another, both included, which for "" are the
// first and the last with a value.
func (m months) buckets(from, to string) []object {
	buckets := []object{}
	if len(m) > 0 {
		known := slices.Sorted(maps.Keys(m))
		from, to = cmp.Or(from, known[0]), cmp.Or(to, known[len(known)-1])
	}
	for year := 1970; from != "" && to != "" && year <= 2100; year++ {
		for month := 1; month <= 12; month++ {
			if name := fmt.Sprintf("%d-%02d", year, month); from <= name && name <= to {
				buckets = append(buckets, object{"month": name, "value": strconv.Itoa(m[name])})
			}
		}
	}
	return buckets
}

func (w *walks) checkTimelines(t *testing.T) {
	var jobs []func() error
	filled := 0
	for _, dao := range w.daos {
		created, votes := months{}, months{}
		undated := map[string]int{}
		for _, p := range w.polls {
			if p.daoID == dao && !p.spam {
				if at := cmp.Or(p.created, p.start); at == nil {
					undated["proposals_created"]++
				} else {
					created.add(at)
				}
				for _, b := range p.ballots {
					if at := cmp.Or(b.at, p.onlyMonth()); at == nil {
						undated["votes_cast"]++
					} else {
						votes.add(at)
					}
				}
			}
		}
		for metric, counts := range map[string]months{"proposals_created": created, "votes_cast": votes} {
			filled += len(counts)
			for _, bounds := range boundsFor(counts) {
				jobs = append(jobs, func() error { return w.checkTimeline(dao, metric, counts, undated[metric], bounds) })
			}
		}
	}
	if filled == 0 {
		t.Error("no month of any DAO has a value")
	}
	concurrently(t, jobs)
}

// boundsFor returns bounds for requests of a timeline: none, one or both, within, at and
// outside the months that have a value.
func boundsFor(counts months) [][2]string {
	bounds := [][2]string{{}, {"2021-01", ""}, {"", "2022-12"}, {"2019-11", "2030-02"}, {"2025-06", "2025-06"}, {"2039-01", "2039-02"}}
	if len(counts) == 0 {
		return bounds
	}
	known := slices.Sorted(maps.Keys(counts))
	first, last := known[0], known[len(known)-1]
	return append(bounds, [2]string{first, last}, [2]string{last, ""}, [2]string{"", first}, [2]string{first, known[len(known)/2]})
}

func (w *walks) checkTimeline(dao, metric string, counts months, undated int, bounds [2]string) error {
	from, to := bounds[0], bounds[1]
	query := url.Values{"metric": {metric}}
	if from != "" {
		query.Set("fromMonth", from)
	}
	if to != "" {
		query.Set("toMonth", to)
	}
	path := "/v2/daos/" + dao + "/timeline?" + query.Encode()
	var got any
	r, err := w.Read(path, &got)
	want := env.Plain(object{"daoId": dao, "metric": metric, "buckets": counts.buckets(from, to), "undated": strconv.Itoa(undated)})
	if diff := gocmp.Diff(want, got); err == nil && diff != "" {
		err = fmt.Errorf("GET %s (-want +got):\n%s", path, diff)
	}
	return cmp.Or(err, r.Meta.Check(true))
}

func (w *walks) checkRefusals(t *testing.T) {
	largest := slices.MaxFunc(slices.Collect(maps.Values(w.polls)), func(a, b *poll) int {
		return cmp.Or(cmp.Compare(len(a.ballots), len(b.ballots)), cmp.Compare(a.key(), b.key()))
	})
	ballots, voter := "/v2/proposals/"+largest.key()+"/votes", "/v2/voters/"+largest.ballots[0].voter
	dao := "/v2/daos/" + largest.daoID
	first := env.Must(w.Page(ballots, 10, ""))(t)
	ranked := env.Must(w.Page(dao+"/voters", 10, ""))(t)
	unknown := (&poll{daoID: "no-such-dao"}).key()
	for path, want := range map[string]string{
		"/v2/proposals/" + unknown[:20] + "/votes":              "400 VALIDATION_ERROR",
		"/v2/proposals/" + unknown + "/votes":                   "404 NOT_FOUND",
		"/v2/proposals/" + unknown + "/votes?order=time":        "404 NOT_FOUND",
		"/v2/voters/0x00000000000000000000000000000000000000ff": "404 NOT_FOUND",
		"/v2/voters/nobody/votes":                               "404 NOT_FOUND",
		"/v2/daos/no-such-dao/voters":                           "404 NOT_FOUND",
		"/v2/daos/no-such-dao/timeline?metric=votes_cast":       "404 NOT_FOUND",

		ballots + "?cursor=" + first.Next:                                          "200 ",
		ballots + "?order=power&limit=500&cursor=" + first.Next:                    "200 ",
		ballots + "?order=time&cursor=" + first.Next:                               "400 VALIDATION_ERROR",
		ballots + "?cursor=" + ranked.Next:                                         "400 VALIDATION_ERROR",
		ballots + "?cursor=" + first.Next[1:]:                                      "400 VALIDATION_ERROR",
		"/v2/proposals/" + w.others(largest).key() + "/votes?cursor=" + first.Next: "400 VALIDATION_ERROR",
		dao + "/voters?cursor=" + first.Next:                                       "400 VALIDATION_ERROR",
		voter + "/votes?cursor=" + first.Next:                                      "400 VALIDATION_ERROR",

		ballots + "?limit=500":             "200 ",
		ballots + "?limit=501":             "400 VALIDATION_ERROR",
		ballots + "?limit=0":               "400 VALIDATION_ERROR",
		ballots + "?order=newest":          "400 VALIDATION_ERROR",
		ballots + "?order=time&order=time": "400 VALIDATION_ERROR",
		ballots + "?sort=time":             "400 VALIDATION_ERROR",
		dao + "/voters?limit=101":          "400 VALIDATION_ERROR",
		voter + "/votes?limit=101":         "400 VALIDATION_ERROR",
		voter + "/votes?daoId=":            "400 VALIDATION_ERROR",
		voter + "/votes?from=yesterday":    "400 VALIDATION_ERROR",
		voter + "?limit=1":                 "400 VALIDATION_ERROR",

		voter + "/votes?from=2024-01-01&to=2024-01-01": "200 ",
		voter + "/votes?from=2024-01-02&to=2024-01-01": "400 VALIDATION_ERROR",
		dao + "/timeline":                                                     "400 VALIDATION_ERROR",
		dao + "/timeline?metric=votes":                                        "400 VALIDATION_ERROR",
		dao + "/timeline?metric=votes_cast&fromMonth=2024-13":                 "400 VALIDATION_ERROR",
		dao + "/timeline?metric=votes_cast&fromMonth=2024-1":                  "400 VALIDATION_ERROR",
		dao + "/timeline?metric=votes_cast&fromMonth=2024-02&toMonth=2024-01": "400 VALIDATION_ERROR",
		dao + "/timeline?metric=votes_cast&fromMonth=2005-01&toMonth=2024-12": "200 ",
		dao + "/timeline?metric=votes_cast&fromMonth=2005-01&toMonth=2025-01": "400 VALIDATION_ERROR",
	} {
		r, err := w.Ask(path, new(any))
		if got := fmt.Sprint(r.Status, " ", r.Error.Code); err != nil || got != want {
			t.Errorf("GET %s: got %s (%v), want %s", path, got, err, want)
		}
	}
}

// others returns a proposal that is not the one given.
func (w *walks) others(not *poll) *poll {
	for _, p := range w.polls {
		if p != not && len(p.ballots) > 100 {
			return p
		}
	}
	return nil
}
