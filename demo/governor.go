package demo

import (
	"strconv"
	"strings"
	"time"
)

// Rhythms of the oddities that real data of Governors has.
const (
	everyStatless  = 13
	everyEventless = 11
	everyTimeless  = 17
	everyUntold    = 19 // no description and no proposer
	everyCanceled  = 10
	everyDefeated  = 8
	everyExpired   = 14
	everyLingering = 6 // passed, and not executed for a while
)

// executionDelay is how long a decision waits in the queue; it is queued after half
// as long.
const executionDelay = 2 * day

// tallyProposal is a line of Tally's proposals.ndjson.gz.
type tallyProposal struct {
	ID           string          `json:"id"`
	OnchainID    string          `json:"onchainId"`
	Organization organizationRef `json:"organization"`
	Status       string          `json:"status"`
	Quorum       *string         `json:"quorum"`
	Metadata     metadata        `json:"metadata"`
	Proposer     account         `json:"proposer"`
	Start        block           `json:"start"`
	End          block           `json:"end"`
	CreatedAt    *string         `json:"createdAt"`
	Events       []event         `json:"events"`
	VoteStats    []voteStat      `json:"voteStats"`
}

type organizationRef struct {
	Slug string `json:"slug"`
}

type metadata struct {
	Title        string  `json:"title"`
	Description  *string `json:"description"`
	DiscourseURL *string `json:"discourseURL"`
	SnapshotURL  *string `json:"snapshotURL"`
}

type account struct {
	Address *string `json:"address"`
}

type block struct {
	Timestamp *string `json:"timestamp"`
}

type event struct {
	Type   string `json:"type"`
	TxHash string `json:"txHash"`
	Block  block  `json:"block"`
}

type voteStat struct {
	Type        string `json:"type"`
	VotesCount  string `json:"votesCount"`
	VotersCount int    `json:"votersCount"`
}

// supports returns the kinds of votes of a Governor.
func supports() []string {
	return []string{"for", "against", "abstain"}
}

// identifyOnChain numbers the proposal as Tally and as the contract do: with a
// running number and with a hash read as a number.
func (p *proposal) identifyOnChain(d dice) {
	p.id = strconv.Itoa(2_000_000_000 + p.serial*977)
	var number strings.Builder
	number.WriteString(strconv.Itoa(d.between(1, 9)))
	for range 4 {
		number.Write(appendPadded(nil, d.Uint64N(atomsPerUnit), 18))
	}
	p.link = "https://www.tally.xyz/gov/" + p.dao.organization + "/proposal/" + number.String()
}

// onChainID returns the contract's number, which the link ends in.
func (p *proposal) onChainID() string {
	return p.link[strings.LastIndexByte(p.link, '/')+1:]
}

// tally describes the proposal as Tally publishes it once its ballots are counted.
func (p *proposal) tally(d dice, c *count, now int64) tallyProposal {
	d.seed(keyOf(p.key, forResult))
	if p.unheld() {
		imagined := p.imagined(d)
		c = &imagined
	}
	status := p.status(c, now)
	quorum := p.onChainQuorum(d, status, c).atomsText()
	proposer, body := p.author.lower(), "# "+p.subject.title+"\n\n"+p.onChainText().markdown("## ")
	line := tallyProposal{
		ID: p.id, OnchainID: p.onChainID(), Organization: organizationRef{p.dao.organization},
		Status: status, Quorum: &quorum,
		Metadata: metadata{Title: p.subject.title, Description: &body},
		Proposer: account{&proposer}, Start: blockAt(p.start), End: blockAt(p.end), CreatedAt: timeAt(p.created),
		Events: p.events(d, status), VoteStats: p.voteStats(c),
	}
	if p.discussion != "" {
		line.Metadata.DiscourseURL = &p.discussion
	}
	if p.follows != nil {
		line.Metadata.SnapshotURL = &p.follows.link
	}
	p.spoilOnChain(&line)
	return line
}

// onChainText returns the description, which says where it was voted on before.
func (p *proposal) onChainText() document {
	if p.follows == nil {
		return p.subject.text
	}
	before := section{
		paragraphs: []string{"This proposal carries out on chain what was decided off chain."},
		links:      []link{{"Snapshot vote", p.follows.link}},
	}
	return append(document{before}, p.subject.text...)
}

// spoilOnChain leaves out what real data sometimes lacks.
func (p *proposal) spoilOnChain(line *tallyProposal) {
	if p.odd(everyStatless) {
		line.VoteStats = nil
	}
	if p.odd(everyEventless) {
		line.Events = nil
	}
	if p.odd(everyUntold) {
		line.Metadata.Description, line.Proposer, line.Quorum = nil, account{}, nil
	}
	if p.odd(everyTimeless) && p.stage == closed {
		line.Start, line.End, line.CreatedAt, line.Events = block{}, block{}, nil, nil
	}
}

// status says how an on-chain vote went on. What has passed waits to be queued and
// then to be executed; some are canceled, and some expire unexecuted.
func (p *proposal) status(c *count, now int64) string {
	since := now - p.end
	switch {
	case p.stage != closed:
		return p.stage.String()
	case p.canceled():
		return "canceled"
	case p.serial%everyDefeated == 3 || !c.scores[0].exceeds(c.scores[1]):
		return "defeated"
	case since < executionDelay:
		return "succeeded"
	case since < 2*executionDelay, since < 45*day && p.serial%everyLingering == 2:
		return "queued"
	case p.serial%everyExpired == 8:
		return "expired"
	}
	return "executed"
}

// canceled says whether the proposer withdrew an on-chain proposal half-way.
func (p *proposal) canceled() bool {
	return p.onChain && p.stage == closed && p.newer > 0 && p.serial%everyCanceled == 5
}

// lastVote returns when voting ends, or ended early.
func (p *proposal) lastVote() int64 {
	if p.canceled() {
		return p.start + (p.end-p.start)/3
	}
	return p.end
}

// onChainQuorum returns a quorum that agrees with the status.
func (p *proposal) onChainQuorum(d dice, status string, c *count) amount {
	cast := c.scores[0].plus(c.scores[2])
	if status == "defeated" && c.scores[0].exceeds(c.scores[1]) {
		return amount{units: 10 * roundNumber(cast.units+1)}
	}
	return amount{units: roundNumber(cast.units / natural(d.between(1, 5)) / 2)}
}

// events lists what the contract recorded.
func (p *proposal) events(d dice, status string) []event {
	events := []event{newEvent(d, "created", p.created)}
	queued := p.end + executionDelay/2
	switch status {
	case "queued", "expired":
		events = append(events, newEvent(d, "queued", queued))
	case "executed":
		executed := queued + executionDelay + d.Int64N(hour)
		events = append(events, newEvent(d, "queued", queued), newEvent(d, "executed", executed))
	case "canceled":
		events = append(events, newEvent(d, "canceled", p.lastVote()))
	}
	return events
}

func newEvent(d dice, kind string, at int64) event {
	return event{Type: kind, TxHash: string(appendHash(nil, drawHash(d))), Block: blockAt(at)}
}

// voteStats states the totals, each type with its power and its voters.
func (p *proposal) voteStats(c *count) []voteStat {
	var stats []voteStat
	for i, support := range supports() {
		stats = append(stats, voteStat{Type: support, VotesCount: c.scores[i].atomsText(), VotersCount: c.votes[i]})
	}
	return stats
}

func blockAt(unix int64) block {
	return block{timeAt(unix)}
}

func timeAt(unix int64) *string {
	text := time.Unix(unix, 0).UTC().Format(time.RFC3339)
	return &text
}
