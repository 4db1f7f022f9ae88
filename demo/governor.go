package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Periods of the defects and outcomes of on-chain proposals.
const (
	noVoteStatsPeriod   = 13
	noEventsPeriod      = 11
	noTimesPeriod       = 17
	noDescriptionPeriod = 19 // no description, proposer and quorum
	canceledPeriod      = 10
	defeatedPeriod      = 8
	expiredPeriod       = 14
	slowExecutionPeriod = 6 // passed, and not executed for 45 days
)

// executionDelay is the time between the end of voting and the execution, in seconds.
// The proposal is queued after half of it.
const executionDelay = 2 * day

// tallyProposal is a line of tally/proposals.ndjson.gz.
type tallyProposal struct {
	ID           string               `json:"id"`
	OnchainID    string               `json:"onchainId"`
	Organization tallyOrganizationRef `json:"organization"`
	Status       string               `json:"status"`
	Quorum       *string              `json:"quorum"`
	Metadata     tallyMetadata        `json:"metadata"`
	Proposer     tallyAccount         `json:"proposer"`
	Start        tallyBlock           `json:"start"`
	End          tallyBlock           `json:"end"`
	CreatedAt    *string              `json:"createdAt"`
	Events       []tallyEvent         `json:"events"`
	VoteStats    []tallyVoteStat      `json:"voteStats"`
	Calls        []executableCall     `json:"executableCalls"`
}

type tallyOrganizationRef struct {
	Slug string `json:"slug"`
}

type tallyMetadata struct {
	Title        string  `json:"title"`
	Description  *string `json:"description"`
	DiscourseURL *string `json:"discourseURL"`
	SnapshotURL  *string `json:"snapshotURL"`
}

type tallyAccount struct {
	Address *string `json:"address"`
}

type tallyBlock struct {
	Timestamp *string `json:"timestamp"`
}

type tallyEvent struct {
	Type   string     `json:"type"`
	TxHash string     `json:"txHash"`
	Block  tallyBlock `json:"block"`
}

type tallyVoteStat struct {
	Type        string `json:"type"`
	VotesCount  string `json:"votesCount"`
	VotersCount int    `json:"votersCount"`
}

// governorChoices returns the choices of every on-chain vote, as Tally names them.
func governorChoices() []string {
	return []string{"for", "against", "abstain"}
}

// demoSeed is the seed of the demonstration.
const demoSeed = 508

// drawTallyID draws the two ids of an on-chain proposal: Tally's running number, which no
// other seed gives, so that data sets can be imported beside the demonstration, and the
// contract's hash as a decimal number.
func (p *proposal) drawTallyID(rng random, seed uint64) {
	p.id = strconv.FormatUint((seed-demoSeed)%1_000_000*10_000_000_000+uint64(2_000_000_000+p.serial*977), 10) //nolint:gosec // not negative
	var number strings.Builder
	number.WriteString(strconv.Itoa(rng.between(1, 9)))
	for range 4 {
		fmt.Fprintf(&number, "%018d", rng.Uint64N(baseUnitsPerToken))
	}
	p.link = "https://www.tally.xyz/gov/" + p.dao.organization + "/proposal/" + number.String()
}

func (p *proposal) tallyLine(rng random, r *voteResult, now int64) tallyProposal {
	rng.seed(deriveKey(p.key, streamResult))
	if p.lacksBallots() {
		invented := p.inventResult(rng)
		r = &invented
	}
	status := p.status(r, now)
	quorum := p.drawOnChainQuorum(rng, status, r).baseUnitsText()
	proposer := p.author.lower()
	calls, stated := p.drawCalls()
	body := "# " + p.content.title + "\n\n" + p.onChainText().markdown("## ")
	if stated != "" {
		body += "\n\n" + stated
	}
	line := tallyProposal{
		ID: p.id, OnchainID: p.link[strings.LastIndexByte(p.link, '/')+1:],
		Organization: tallyOrganizationRef{p.dao.organization},
		Status:       status, Quorum: &quorum,
		Metadata: tallyMetadata{Title: p.content.title, Description: &body},
		Proposer: tallyAccount{&proposer},
		Start:    blockAt(p.start), End: blockAt(p.end), CreatedAt: formatTime(p.created),
		Events: p.drawEvents(rng, status), VoteStats: p.voteStats(r), Calls: calls,
	}
	if p.discussion != "" {
		line.Metadata.DiscourseURL = &p.discussion
	}
	if p.offChainVote != nil {
		line.Metadata.SnapshotURL = &p.offChainVote.link
	}
	p.dropOnChainFields(&line)
	return line
}

// onChainText returns the description, preceded by a link to the off-chain vote that
// the proposal executes.
func (p *proposal) onChainText() document {
	if p.offChainVote == nil {
		return p.content.text
	}
	reference := section{
		paragraphs: []string{"This proposal carries out on chain what was decided off chain."},
		links:      []link{{"Snapshot vote", p.offChainVote.link}},
	}
	return append(document{reference}, p.content.text...)
}

// dropOnChainFields removes fields that real data sometimes lacks.
func (p *proposal) dropOnChainFields(line *tallyProposal) {
	if p.isNth(noVoteStatsPeriod) {
		line.VoteStats = nil
	}
	if p.isNth(noEventsPeriod) {
		line.Events = nil
	}
	if p.isNth(noDescriptionPeriod) {
		line.Metadata.Description, line.Proposer, line.Quorum = nil, tallyAccount{}, nil
	}
	if p.isNth(noTimesPeriod) && p.state == closed {
		line.Start, line.End, line.CreatedAt = tallyBlock{}, tallyBlock{}, nil
		line.Events = nil
	}
}

// status returns the status at now. A passed proposal is queued and then executed;
// some expire instead, and some are canceled before.
func (p *proposal) status(r *voteResult, now int64) string {
	since := now - p.end
	switch {
	case p.state != closed:
		return p.state.String()
	case p.canceled():
		return "canceled"
	case p.serial%defeatedPeriod == 3 || !r.scores[0].exceeds(r.scores[1]):
		return "defeated"
	case since < executionDelay:
		return "succeeded"
	case since < 2*executionDelay, since < 45*day && p.serial%slowExecutionPeriod == 2:
		return "queued"
	case p.serial%expiredPeriod == 8:
		return "expired"
	}
	return "executed"
}

func (p *proposal) canceled() bool {
	return p.onChain && p.state == closed && p.newer > 0 && p.serial%canceledPeriod == 5
}

// votingEnd returns when voting ends; a cancellation ends it early.
func (p *proposal) votingEnd() int64 {
	if p.canceled() {
		return p.start + (p.end-p.start)/3
	}
	return p.end
}

func (p *proposal) drawOnChainQuorum(rng random, status string, r *voteResult) amount {
	cast := r.scores[0].plus(r.scores[2])
	if status == "defeated" && r.scores[0].exceeds(r.scores[1]) {
		return amount{whole: 10 * roundDown(cast.whole+1)}
	}
	return amount{whole: roundDown(cast.whole / unsigned(rng.between(1, 5)) / 2)}
}

func (p *proposal) drawEvents(rng random, status string) []tallyEvent {
	events := []tallyEvent{drawEvent(rng, "created", p.created)}
	queued := p.end + executionDelay/2
	switch status {
	case "queued", "expired":
		events = append(events, drawEvent(rng, "queued", queued))
	case "executed":
		executed := queued + executionDelay + rng.Int64N(hour)
		events = append(events,
			drawEvent(rng, "queued", queued), drawEvent(rng, "executed", executed))
	case "canceled":
		events = append(events, drawEvent(rng, "canceled", p.votingEnd()))
	}
	return events
}

func drawEvent(rng random, kind string, at int64) tallyEvent {
	return tallyEvent{
		Type: kind, TxHash: hashText(drawHash(rng)), Block: blockAt(at),
	}
}

// voteStats returns the power and the number of voters per choice.
func (p *proposal) voteStats(r *voteResult) []tallyVoteStat {
	var stats []tallyVoteStat
	for i, choice := range governorChoices() {
		stats = append(stats, tallyVoteStat{
			Type: choice, VotesCount: r.scores[i].baseUnitsText(), VotersCount: r.votes[i],
		})
	}
	return stats
}

func blockAt(unix int64) tallyBlock {
	return tallyBlock{formatTime(unix)}
}

func formatTime(unix int64) *string {
	text := time.Unix(unix, 0).UTC().Format(time.RFC3339)
	return &text
}
