package recount_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// Every list of ballots, every ranking, profiles, histories and timelines of the real data are compared, row by
// row, with a recount of upstream's own files by the written rules.
func TestWalksOfRealDataEqualARecount(t *testing.T) {
	dir := realData(t)

	i := startEmpty(t)
	i.Import(dir)
	want := env.Must(recountOf(dir, time.Now(), nil))(t)
	hashes := env.Must(transactionHashes(dir))(t)
	w := &walks{Pnyx: i, polls: want.polls, hashes: hashes, electorates: electoratesOf(want.polls)}
	for _, dao := range want.daos {
		w.daos = append(w.daos, fmt.Sprint(dao["daoId"]))
	}
	w.detail = want.answers
	w.AwaitPublished()

	t.Run("the ballots of every proposal", w.checkBallots)
	t.Run("the ranking of every DAO", w.checkRankings)
	t.Run("a thousand voters", w.checkVoters)
	t.Run("the timelines of every DAO", w.checkTimelines)
	t.Run("what is asked wrongly is refused", w.checkRefusals)
}

// walks is the running service and what its lists must hold.
type walks struct {
	*env.Pnyx
	polls       map[string]*poll
	hashes      map[string]string // of transactions, by ballot
	electorates map[string]map[string]*turnout
	daos        []string
	detail      map[string]object // answers about DAOs, by path
}

// transactionHashes reads the one field of upstream's ballots that does not affect any count.
func transactionHashes(dir string) (map[string]string, error) {
	type ballot struct {
		ID     string `json:"id"`
		TxHash string `json:"txHash"`
	}
	ballots, err := readLines[ballot](dir, "tally", "votes.ndjson.gz")
	hashes := map[string]string{}
	for _, b := range ballots {
		hashes[b.ID] = b.TxHash
	}
	return hashes, err
}

// encoded returns a value in JSON as the service encodes it.
func encoded(value any) json.RawMessage {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(text.Bytes())
}

// ballotRow is a ballot as the list shows it.
type ballotRow struct {
	VoteID          string          `json:"voteId"`
	VoterIdentity   string          `json:"voterIdentity"`
	VoterAddress    *string         `json:"voterAddress"`
	ChoiceKey       *string         `json:"choiceKey"`
	Choice          ballotLabel     `json:"choice"`
	Invalid         bool            `json:"invalid"`
	VotingPower     string          `json:"votingPower"`
	VotedAt         *string         `json:"votedAt"`
	TransactionHash *string         `json:"transactionHash"`
	Reason          *string         `json:"reason"`
	VoterName       json.RawMessage `json:"voterName"` // of which the files state none
}

type ballotLabel struct {
	Label string `json:"label"`
}

func (w *walks) ballotRow(p *poll, b cast) json.RawMessage {
	return encoded(ballotRow{
		VoteID: b.id, VoterIdentity: b.voter, VoterAddress: addressOf(b.voter),
		ChoiceKey: p.choiceKey(b), Choice: ballotLabel{p.label(b)}, Invalid: p.invalid(b),
		VotingPower: decimalText(b.power, places), VotedAt: stamp(b.at), TransactionHash: w.hash(b), Reason: b.shownReason(),
	})
}

func (w *walks) hash(b cast) *string {
	if hash := w.hashes[b.id]; hash != "" {
		return &hash
	}
	return nil
}

func addressOf(voter string) *string {
	if strings.HasPrefix(voter, "0x") {
		return &voter
	}
	return nil
}

// byPower puts the highest power first, equal ones by voter, descending.
func byPower(a, b cast) int {
	return cmp.Or(b.power.Cmp(a.power), cmp.Compare(b.voter, a.voter))
}

// byTime puts the newest first and those without a time last, equal ones by voter, descending.
func byTime(a, b cast) int {
	return cmp.Or(newestFirst(a.at, b.at), cmp.Compare(b.voter, a.voter))
}

func newestFirst(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return b.Compare(*a)
}

// checkBallots walks a fourth of the proposals before the engine merges parts, the others after.
func (w *walks) checkBallots(t *testing.T) {
	var jobs [2][]func() error
	for n, key := range slices.Sorted(maps.Keys(w.polls)) {
		p := w.polls[key]
		path, limits := "/v2/proposals/"+key+"/votes", pageSizes(len(p.ballots), n)
		if len(limits) == 0 {
			continue
		}
		merged := min(n%4, 1)
		jobs[merged] = append(jobs[merged], func() error {
			rows := map[string]json.RawMessage{}
			for _, b := range p.ballots {
				rows[b.voter] = w.ballotRow(p, b)
			}
			var errs []error
			if len(p.ballots) == 0 {
				errs = append(errs, w.checkNoBallots(p, path))
				limits = nil
			}
			for order, compare := range map[string]func(a, b cast) int{"power": byPower, "time": byTime} {
				var want []json.RawMessage
				for _, b := range slices.SortedFunc(slices.Values(p.ballots), compare) {
					want = append(want, rows[b.voter])
				}
				for _, limit := range limits {
					errs = append(errs, w.CheckList(path+"?order="+order, limit, want))
				}
			}
			return errors.Join(errs...)
		})
	}
	concurrently(t, jobs[0])
	env.MustDo(t, w.Warehouse().Exec(t.Context(), "OPTIMIZE TABLE ballots FINAL"))
	concurrently(t, jobs[1])
}

// checkNoBallots checks a list of which no ballot is held: it is ready unless upstream states some.
func (w *walks) checkNoBallots(p *poll, path string) error {
	page, err := w.Page(path, 100, "")
	if err == nil && len(page.Rows) > 0 {
		err = fmt.Errorf("GET %s: got %d rows, want none", path, len(page.Rows))
	}
	total, _ := p.statement()
	states := p.partial() || p.stated == nil && total != nil && total.Sign() > 0
	return cmp.Or(err, page.Meta.Check(!states))
}

// pageSizes returns sizes for walks of the n-th proposal: every page needs a fill, so few are small.
func pageSizes(ballots, n int) []int {
	switch {
	case ballots == 0 && n%20 > 0:
		return nil
	case ballots > 2000:
		return []int{100, 500}
	case ballots > 100:
		return []int{[]int{500, 499, 477}[n%3]}
	case ballots > 7 && n%25 == 0:
		return []int{7, 100}
	case ballots > 1 && n%25 == 0:
		return []int{1, 2}
	default:
		return []int{[]int{100, 500}[n%2]}
	}
}

// turnout is the participation of a voter in one DAO.
type turnout struct {
	votes       int
	power       power
	first, last *time.Time
}

// electoratesOf sums up the voters of each DAO.
func electoratesOf(polls map[string]*poll) map[string]map[string]*turnout {
	all := map[string]map[string]*turnout{}
	for _, p := range polls {
		if p.spam {
			continue
		}
		voters := all[p.daoID]
		if voters == nil {
			voters = map[string]*turnout{}
			all[p.daoID] = voters
		}
		for _, b := range p.ballots {
			of := voters[b.voter]
			if of == nil {
				of = &turnout{power: new(big.Int)}
				voters[b.voter] = of
			}
			of.votes++
			of.power.Add(of.power, b.power)
			of.last = later(of.last, b.at)
			if b.at != nil && (of.first == nil || b.at.Before(*of.first)) {
				of.first = b.at
			}
		}
	}
	return all
}

// rankedRow is a voter in a DAO's ranking.
type rankedRow struct {
	Rank             int     `json:"rank"`
	VoterIdentity    string  `json:"voterIdentity"`
	VoterName        *string `json:"voterName"`
	VoterAddress     *string `json:"voterAddress"`
	TotalVotingPower string  `json:"totalVotingPower"`
	VoteCount        string  `json:"voteCount"`
	ProposalCount    string  `json:"proposalCount"`
}

func (w *walks) checkRankings(t *testing.T) {
	var jobs []func() error
	for n, dao := range w.daos {
		limits := []int{100}
		if voters := len(w.electorates[dao]); voters < 150 {
			limits = []int{[]int{1, 7, 25, 99}[n%4], 100}
		}
		jobs = append(jobs, func() error {
			want, err := w.ranking(dao)
			for _, limit := range limits {
				err = cmp.Or(err, w.CheckList("/v2/daos/"+dao+"/voters", limit, want))
			}
			return err
		})
	}
	concurrently(t, jobs)
}

// ranking returns the expected ranking of a DAO and checks its sums against the DAO.
func (w *walks) ranking(dao string) (rows []json.RawMessage, err error) {
	voters := w.electorates[dao]
	ranked := slices.SortedFunc(maps.Keys(voters), func(a, b string) int {
		return cmp.Or(voters[b].power.Cmp(voters[a].power), cmp.Compare(a, b))
	})
	votes, total := 0, new(big.Int)
	for n, voter := range ranked {
		of := voters[voter]
		count := strconv.Itoa(of.votes)
		rows = append(rows, encoded(rankedRow{
			Rank: n + 1, VoterIdentity: voter, VoterAddress: addressOf(voter),
			TotalVotingPower: decimalText(of.power, places), VoteCount: count, ProposalCount: count,
		}))
		votes += of.votes
		total.Add(total, of.power)
	}
	var said object
	if _, err := w.Read("/v2/daos/"+dao, &said); err != nil {
		return nil, err
	}
	want := env.Plain(object{
		"uniqueVoters": strconv.Itoa(len(ranked)), "totalVotes": strconv.Itoa(votes),
		"totalVotingPower": decimalText(total, places),
	})
	if diff := gocmp.Diff(want, said["participation"]); diff != "" {
		return nil, fmt.Errorf("participation in %s is not the sum of the ranking (-ranking +got):\n%s", dao, diff)
	}
	return rows, nil
}
