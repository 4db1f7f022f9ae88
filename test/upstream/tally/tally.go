// Package tally is an endpoint of Tally's API for tests. It answers as the real one was
// documented or seen to, with a switch for each thing that it does now and then, and states
// what a follower must hold.
package tally

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/warehouse/record"
)

// Tally is an endpoint of Tally's API. It is safe for concurrent use.
type Tally struct {
	now func() time.Time

	mu            check.Mutex
	switches      Switches
	organizations []*organization
	proposals     []*proposal
	// names are the names of accounts, by address.
	names    map[string]string
	lastID   uint64
	requests map[string]int
	times    []time.Time
}

// Switches are the things that the endpoint does now and then.
type Switches struct {
	// Key is the key that requests must have; RefusedStatus is what others get, 401 or 403.
	Key           string
	RefusedStatus int
	// Limited allows one request a second, as a key does.
	Limited bool
	// Behind makes the endpoint answer the state of when it was turned on, and say so.
	Behind bool
	// Fails makes every query fail: HTTP 200 with errors and no data.
	Fails bool
	// Others puts nodes of another type into pages.
	Others bool
	// ForgetsCursors makes every cursor unknown.
	ForgetsCursors bool
	// EarlierVotes gives votes the name that they had before.
	EarlierVotes bool
	// ShortPages leaves pages short before their list ends, where the last cursor is given again.
	ShortPages bool
}

type organization struct {
	id, slug, name string
	decimals       int32
}

type proposal struct {
	id, onchainID, title, status string
	organization                 *organization
	created, start, end          time.Time
	quorum                       string
	events                       []event
	votes                        []*vote
	calls                        []Call
	frozen                       *proposal
}

type event struct {
	kind string
	at   time.Time
}

type vote struct {
	id, kind, amount, voter, reason string
	at                              time.Time
}

// Call is a call that a proposal executes.
type Call struct {
	Target    string `json:"target"`
	Value     string `json:"value"`
	Calldata  string `json:"calldata"`
	Signature string `json:"signature"`
	ChainID   string `json:"chainId"`
}

// New returns an endpoint without organizations that goes by a clock.
func New(now func() time.Time) *Tally {
	return &Tally{now: now, names: map[string]string{}, lastID: 2206072050458560433, requests: map[string]int{}}
}

// Switch changes what the endpoint does.
func (t *Tally) Switch(change func(*Switches)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.switches.Behind
	change(&t.switches)
	for _, p := range t.proposals {
		if t.switches.Behind && !before {
			frozen := *p
			frozen.events, frozen.votes = slices.Clone(p.events), slices.Clone(p.votes)
			p.frozen = &frozen
		} else if !t.switches.Behind {
			p.frozen = nil
		}
	}
}

// Requests returns how many requests asked for a field of the root, refused ones included.
func (t *Tally) Requests(field string) int {
	return check.Locked(&t.mu, func() int { return t.requests[field] })
}

func (t *Tally) id() string {
	t.lastID += 1000
	return strconv.FormatUint(t.lastID, 10)
}

// AddOrganization adds an organization whose token has some decimals.
func (t *Tally) AddOrganization(slug, name string, decimals int32) {
	t.mu.Do(func() { t.organizations = append(t.organizations, &organization{t.id(), slug, name, decimals}) })
}

// Propose adds an active proposal that ends after a time and returns its id.
func (t *Tally) Propose(slug, title string, span time.Duration) string {
	return t.add(slug, title, "active", span)
}

// Draft adds a proposal that is not on the chain yet.
func (t *Tally) Draft(slug, title string) string { return t.add(slug, title, "draft", time.Hour) }

func (t *Tally) add(slug, title, status string, span time.Duration) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.organizations, func(o *organization) bool { return o.slug == slug })
	now := t.now()
	p := &proposal{
		id: t.id(), title: title, status: status, organization: t.organizations[at], created: now, start: now, end: now.Add(span),
		quorum: "4000000", events: []event{{"created", now}},
		calls: []Call{{"0xFEED00000000000000000000000000000000FEED", "5", "0x", "", "eip155:1"}},
	}
	if status != "draft" {
		p.onchainID = p.id + "9"
	}
	t.proposals = append(t.proposals, p)
	return p.id
}

// Submit puts a draft on the chain.
func (t *Tally) Submit(id string) {
	t.change(id, func(p *proposal) { p.status, p.onchainID = "active", p.id+"9" })
}

// SetStatus changes a proposal's status, without a trace but for an event of that name.
func (t *Tally) SetStatus(id, status string) {
	t.change(id, func(p *proposal) { p.status, p.events = status, append(p.events, event{status, t.now()}) })
}

// SetCalls sets what a proposal executes, and returns its number on the chain.
func (t *Tally) SetCalls(id string, calls ...Call) (onchainID string) {
	t.change(id, func(p *proposal) { p.calls, onchainID = calls, p.onchainID })
	return onchainID
}

// Vote adds a vote with an amount in smallest units and returns its id. The kind may be pending: pendingfor,
// pendingagainst, pendingabstain.
func (t *Tally) Vote(id, voter, kind, amount string) (vote string) {
	t.change(id, func(p *proposal) {
		vote = t.id()
		p.votes = append(p.votes, newVote(vote, voter, kind, amount, t.now()))
	})
	return vote
}

// SetName sets the name of an account.
func (t *Tally) SetName(voter, name string) { t.mu.Do(func() { t.names[voter] = name }) }

func newVote(id, voter, kind, amount string, at time.Time) *vote {
	return &vote{id: id, kind: kind, amount: amount, voter: voter, reason: "Because.", at: at}
}

// Arrive makes a pending vote plain. It keeps its id.
func (t *Tally) Arrive(id, voteID string) {
	t.change(id, func(p *proposal) {
		at := slices.IndexFunc(p.votes, func(v *vote) bool { return v.id == voteID })
		arrived := *p.votes[at]
		arrived.kind = strings.TrimPrefix(arrived.kind, "pending")
		p.votes[at] = &arrived
	})
}

// Drop takes a vote back, as a reorganization does.
func (t *Tally) Drop(id, voteID string) {
	t.change(id, func(p *proposal) {
		p.votes = slices.DeleteFunc(p.votes, func(v *vote) bool { return v.id == voteID })
	})
}

func (t *Tally) change(id string, change func(*proposal)) { t.mu.Do(func() { change(t.find(id)) }) }

func (t *Tally) find(id string) *proposal {
	at := slices.IndexFunc(t.proposals, func(p *proposal) bool { return p.id == id })
	if at < 0 {
		return nil
	}
	return t.proposals[at]
}

// Truth returns what a follower must hold, by id: the proposals and ballots on the chain and not pending.
func (t *Tally) Truth() (proposals []record.Proposal, ballots []record.Ballot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.proposals {
		if p.onchainID == "" {
			continue
		}
		proposals = append(proposals, p.truth())
		for _, v := range p.votes {
			if !strings.HasPrefix(v.kind, "pending") {
				ballots = append(ballots, p.ballot(v))
			}
		}
	}
	slices.SortFunc(ballots, func(a, b record.Ballot) int { return cmp.Compare(a.VoteID, b.VoteID) })
	return proposals, ballots
}

func (p *proposal) truth() record.Proposal {
	created, start, end := governance.TimestampOf(p.created), governance.TimestampOf(p.start), governance.TimestampOf(p.end)
	calls := uint64(len(p.calls))
	truth := record.Proposal{
		StatedActions: &calls,
		ProposalRef:   record.ProposalRef{Provider: governance.Tally, ExternalID: p.id}, SourceID: p.organization.slug,
		Title: p.title, Body: "# " + p.title, ProposerID: "0xfeed",
		SourceURL: fmt.Sprintf("https://www.tally.xyz/gov/%s/proposal/%s", p.organization.slug, p.onchainID),
		VoteType:  governance.SingleChoice, State: p.status, Choices: []string{"For", "Against", "Abstain"},
		QuorumRaw: p.quorum, Quorum: p.amount(p.quorum), CreatedAt: &created, StartAt: &start, EndAt: &end,
		OnchainID: governor + "/" + p.onchainID, VotingToken: strings.Replace(token, "/erc20", "", 1),
	}
	for _, e := range p.events {
		at := governance.TimestampOf(e.at)
		truth.Milestones = append(truth.Milestones, record.Milestone{Type: e.kind, At: &at, TxHash: "0xc0"})
	}
	votes, scores := uint64(0), make([]decimal.Decimal, 3)
	truth.StatedChoiceVotes = make([]uint64, len(scores))
	for _, v := range p.votes {
		if at := slices.Index([]string{"for", "against", "abstain"}, v.kind); at >= 0 {
			votes, scores[at] = votes+1, scores[at].Add(*p.amount(v.amount))
			truth.StatedChoiceVotes[at]++
		}
	}
	truth.StatedVotes, truth.StatedScores = &votes, scores
	return truth
}

func (p *proposal) ballot(v *vote) record.Ballot {
	at := governance.TimestampOf(v.at)
	return record.Ballot{
		Proposal: record.ProposalRef{Provider: governance.Tally, ExternalID: p.id}, VoteID: v.id, Voter: strings.ToLower(v.voter),
		Power: *p.amount(v.amount), Choices: []string{v.kind}, ChoiceKey: v.kind, RawChoice: strconv.Quote(v.kind),
		VotedAt: &at, TxHash: "0xc1", Reason: v.reason,
	}
}

func (p *proposal) amount(text string) *decimal.Decimal {
	amount := decimal.RequireFromString(text).Shift(-p.organization.decimals)
	return &amount
}

// sums returns the number and the amount of votes by kind, in order of kinds.
func (p *proposal) sums() []object {
	voters, amounts := map[string]int{}, map[string]decimal.Decimal{}
	for _, kind := range []string{"for", "against", "abstain"} {
		voters[kind] = 0
	}
	for _, v := range p.votes {
		voters[v.kind]++
		amounts[v.kind] = amounts[v.kind].Add(decimal.RequireFromString(v.amount))
	}
	stats := []object{}
	for _, kind := range slices.Sorted(maps.Keys(voters)) {
		stats = append(stats, object{"type": kind, "votersCount": voters[kind], "votesCount": amounts[kind].String()})
	}
	return stats
}
