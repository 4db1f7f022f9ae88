package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"
)

// The poll is a vote that goes on during a drill: voters vote again and again, and after any number of ballots it
// is known what the answers have to be.
const (
	pollDAO     = "pnyx-drill"
	pollSpace   = "drill.eth"
	pollVoters  = 40
	pollChoices = 3
)

var pollLines = []string{
	`{"record":"dao","version":1,"daoId":"` + pollDAO + `","name":"Drill","sources":[{"provider":"snapshot","id":"` + pollSpace + `"}]}`,
	`{"id":"` + pollSpace + `","name":"Drill","network":"1","symbol":"D"}`,
	`{"id":"0xdrill","space":{"id":"` + pollSpace + `"},"author":"0xA","type":"single-choice","title":"Drill",` +
		`"choices":["Red","Green","Blue"],"created":1767225600,"start":1767225600,"end":1769904000,"state":"closed"}`,
}

// readyMeans is how far behind a ready answer may be: until it is stale, and some for a loaded machine.
const readyMeans = 25 * time.Second

// poll is what is known of the proposal on which the ballots are cast.
type poll struct {
	key string
	// clockIsWrong turns off checks that compare times.
	clockIsWrong bool
	// readyMeans is how far behind an answer may be that says it is ready.
	readyMeans time.Duration

	mu sync.Mutex
	// started is the number of imports begun; imported holds when each ended.
	started  int
	imported []time.Time
}

// record finds the poll's proposal.
func (p *poll) learn(l *recorder) {
	l.tb.Helper()
	var proposals []struct{ ProposalKey string }
	l.list("/v2/proposals?daoId="+pollDAO, &proposals)
	if len(proposals) != 1 {
		l.tb.Fatalf("got %d proposals of the poll's DAO, want 1", len(proposals))
	}
	p.key = proposals[0].ProposalKey
}

// begin is the poll before any ballot.
func (p *poll) begin() *poll { return &poll{key: p.key, readyMeans: readyMeans} }

// allow sets readyMeans.
func (p *poll) allow(behind time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readyMeans = behind
}

// next is the line of the next ballot.
func (p *poll) next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.started
	p.started++
	return fmt.Sprintf(`{"id":"cast-%d","proposal":{"id":"0xdrill"},"space":{"id":%q},"voter":"0xvoter%d","created":%d,"choice":%d,"vp":%s}`,
		n, pollSpace, n%pollVoters, 1767225600+n, choiceOf(n), text(powerOf(n)))
}

// done notes that the last ballot begun is imported.
func (p *poll) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.imported = append(p.imported, time.Now())
}

func choiceOf(n int) int { return 1 + n%pollChoices }

// powerOf is the power of a cast, in units of 10^-18: n+1, and as many units.
func powerOf(n int) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)
	return unit.Mul(unit.Add(unit, big.NewInt(1)), big.NewInt(int64(n+1)))
}

func text(units *big.Int) string { return decimal.NewFromBigInt(units, -18).String() }

// count recounts the poll after a number of casts.
func count(casts int) (votes [pollChoices]int, power [pollChoices]*big.Int) {
	for c := range power {
		power[c] = new(big.Int)
	}
	for n := max(0, casts-pollVoters); n < casts; n++ {
		c := choiceOf(n) - 1
		votes[c]++
		power[c].Add(power[c], powerOf(n))
	}
	return votes, power
}

// plausible checks how many casts an answer shows: what there can be, and what it says to know of.
func (p *poll) plausible(casts int, r *reply) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if casts > p.started {
		return fmt.Errorf("it shows %d casts of %d", casts, p.started)
	}
	if casts >= len(p.imported) || p.clockIsWrong {
		return nil
	}
	missing := p.imported[casts]
	asOf, made := r.Meta.DataAsOf.Time(), r.Meta.GeneratedAt.Time()
	switch {
	case asOf.After(missing):
		return fmt.Errorf("it shows %d casts as of %s, and the next was there at %s", casts, r.Meta.DataAsOf, missing.UTC())
	case r.Meta.Readiness.Status == "ready" && made.Sub(missing) > p.readyMeans:
		return fmt.Errorf("it says it is ready with %d casts, %s after the next", casts, made.Sub(missing))
	}
	return nil
}

// casts is the number of ballots that are imported.
func (p *poll) casts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.imported)
}

// importedSince says whether any ballot is.
func (p *poll) importedSince(moment time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.imported) > 0 && p.imported[len(p.imported)-1].After(moment)
}

// pollQuestion is a path whose answer follows from the number of casts.
type pollQuestion struct {
	path string
	// free is asked without a token.
	free bool
	// read returns how many casts an answer shows, and what else is wrong with it.
	read func(data []byte) (casts int, err error)
}

// questions are those about the poll.
func (p *poll) questions() []pollQuestion {
	path := "/v2/proposals/" + p.key + "/votes"
	return []pollQuestion{
		{path: path + "/summary", read: readSummary},
		{path: path + "?order=time&limit=30", read: readBallots},
		{path: "/v2/daos/" + pollDAO, free: true, read: readParticipation},
	}
}

// totals are what an answer says of all ballots.
type totals struct{ votes, voters, power string }

// castsOf finds the number of casts with such totals.
func castsOf(got totals) (int, error) {
	const most = 1 << 14
	sum, units := new(big.Int), got.power
	if units == "0" && got.votes == "0" && got.voters == "0" {
		return 0, nil
	}
	for casts := 1; casts < most; casts++ {
		sum.Add(sum, powerOf(casts-1))
		if casts > pollVoters {
			sum.Sub(sum, powerOf(casts-1-pollVoters))
		}
		if text(sum) != units {
			continue
		}
		if votes := strconv.Itoa(min(casts, pollVoters)); got.votes != votes || got.voters != votes {
			return 0, fmt.Errorf("%s votes of %s voters, want %s", got.votes, got.voters, votes)
		}
		return casts, nil
	}
	return 0, fmt.Errorf("a power of %s belongs to no number of casts", got.power)
}

func readSummary(data []byte) (int, error) {
	var s struct {
		Totals  *struct{ Votes, UniqueVoters, VotingPower string }
		Choices []struct{ Key, Votes, VotingPower string }
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, err
	}
	if s.Totals == nil || len(s.Choices) == 0 {
		return 0, nil // before the first ballot
	}
	casts, err := castsOf(totals{s.Totals.Votes, s.Totals.UniqueVoters, s.Totals.VotingPower})
	if err != nil {
		return 0, err
	}
	votes, power := count(casts)
	if len(s.Choices) != pollChoices {
		return 0, fmt.Errorf("%d choices", len(s.Choices))
	}
	for c, choice := range s.Choices {
		if choice.Votes != strconv.Itoa(votes[c]) || choice.VotingPower != text(power[c]) {
			return 0, fmt.Errorf("after %d casts: choice %s has %s votes and a power of %s, want %d and %s",
				casts, choice.Key, choice.Votes, choice.VotingPower, votes[c], text(power[c]))
		}
	}
	return casts, nil
}

func readParticipation(data []byte) (int, error) {
	var dao struct {
		Participation struct{ UniqueVoters, TotalVotes, TotalVotingPower string }
	}
	if err := json.Unmarshal(data, &dao); err != nil {
		return 0, err
	}
	p := dao.Participation
	return castsOf(totals{p.TotalVotes, p.UniqueVoters, p.TotalVotingPower})
}

func readBallots(data []byte) (int, error) {
	var rows []struct{ VoteID, VoterIdentity, ChoiceKey, VotingPower string }
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
		return 0, err
	}
	last, err := strconv.Atoi(strings.TrimPrefix(rows[0].VoteID, "cast-"))
	if err != nil {
		return 0, err
	}
	var problems []error
	for i, row := range rows {
		n := last - i
		want := []string{fmt.Sprint("cast-", n), fmt.Sprint("0xvoter", n%pollVoters), strconv.Itoa(choiceOf(n)), text(powerOf(n))}
		if got := []string{row.VoteID, row.VoterIdentity, row.ChoiceKey, row.VotingPower}; fmt.Sprint(got) != fmt.Sprint(want) {
			problems = append(problems, fmt.Errorf("row %d: got %v, want %v", i, got, want))
		}
	}
	if want := min(last+1, pollVoters, 30); len(rows) != want {
		problems = append(problems, fmt.Errorf("%d rows after %d casts, want %d", len(rows), last+1, want))
	}
	return last + 1, errors.Join(problems...)
}
