package demo

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Periods of the defects of Snapshot data and of unusual results. They are coprime
// to each other and to the other periods, so that some proposals have several.
const (
	noTitlePeriod        = 31
	noBodyPeriod         = 23
	noChoicesPeriod      = 37
	noStatePeriod        = 29
	dayOnlyPeriod        = 43
	noAuthorPeriod       = 47
	flaggedPeriod        = 53
	copelandPeriod       = 49
	undatedBallotsPeriod = 17
	dayOnlyBallotsPeriod = 19
	closeContestPeriod   = 9
	rejectedPeriod       = 7 // more power against than for
)

// proposal is a proposal before its ballots are counted.
type proposal struct {
	proposalPlan
	dao     *dao
	key     uint64
	content content
	author  address
	// created, start and end are in Unix seconds.
	created, start, end int64
	onChain             bool
	// offChainVote is the off-chain vote that an on-chain proposal executes, or nil.
	offChainVote *proposal
	// id and link are the provider's. space is empty on chain.
	id, link, space string
	// discussion is the URL of the forum topic; empty if there is none.
	discussion string
}

// isNth reports whether the proposal has the defect with the given period. The
// largest proposal has none.
func (p *proposal) isNth(period int) bool {
	return !p.largest && p.serial%period == period/2
}

func (g *generator) newProposal(dao *dao, planned proposalPlan) *proposal {
	key := deriveKey(g.options.Seed, streamProposal, unsigned(planned.serial))
	p := &proposal{proposalPlan: planned, dao: dao, key: key}
	rng := g.rng
	rng.seed(p.key)
	p.onChain = dao.onChain(planned.index)
	author := dao.member(unsigned(rng.heavyTailed(5)))
	p.author = addressOf(deriveKey(g.options.Seed, streamVoter), author)
	p.drawTimes(rng, g.now)
	p.content = g.drawContent(rng, p)
	if p.onChain {
		p.content.voteType, p.content.choices = basic, basicChoices()
		p.drawTallyID(rng, g.options.Seed)
	} else {
		p.drawSnapshotID(rng)
	}
	return p
}

// drawContent draws the content of a proposal. An on-chain proposal asks yes or no;
// it repeats the content of the DAO's last passed off-chain vote if there is one.
func (g *generator) drawContent(rng random, p *proposal) content {
	if passed := p.dao.lastPassed; p.onChain && passed != nil && passed.end < p.start {
		p.offChainVote = passed
		return passed.content
	}
	templates := g.texts.proposals
	switch {
	case p.onChain, p.largest, p.dao.hybrid() && p.index%3 == 1:
		templates = g.texts.byQuestion[yesOrNo]
	case p.isNth(copelandPeriod):
		templates = g.texts.byQuestion[candidates]
	}
	c := g.texts.drawContent(rng, p.dao, templates, time.Unix(p.created, 0).UTC())
	if p.isNth(copelandPeriod) && c.template.Question == candidates {
		c.voteType = copeland
	}
	c.title = numberTitle(p.dao.code, p.index+1, c.title)
	return c
}

func (p *proposal) drawSnapshotID(rng random) {
	p.id = hashText(drawHash(rng))
	p.space = p.dao.spaces[p.index%len(p.dao.spaces)]
	p.link = "https://snapshot.org/#/" + p.space + "/proposal/" + p.id
}

// drawTimes draws the times. Closed votes become rarer with age; active votes end,
// and pending ones start, within days.
func (p *proposal) drawTimes(rng random, now int64) {
	duration := p.dao.duration
	switch p.state {
	case closed:
		newer, all := int64(p.newer), int64(p.newer+p.index+1)
		p.end = now - 30*hour - p.dao.age*newer/all*newer/all - rng.Int64N(20*hour)
		p.start = p.end - duration
	case active:
		left := 2*hour + rng.Int64N(28*hour)
		if p.newer%2 == 1 {
			left = 26*hour + rng.Int64N(duration-30*hour)
		}
		p.end = now + left
		p.start = p.end - duration
	case pending:
		p.start = now + 4*hour + rng.Int64N(56*hour)
		p.end = p.start + duration
		p.created = now - 2*hour - rng.Int64N(18*hour)
		return
	}
	p.created = p.start - rng.Int64N(2*day)
}

// snapshotProposal is a line of snapshot/proposals.ndjson.gz. Fields that a line may
// lack are json.RawMessage.
type snapshotProposal struct {
	ID          string          `json:"id"`
	Space       snapshotRef     `json:"space"`
	Author      *string         `json:"author"`
	Created     *int64          `json:"created"`
	Updated     json.RawMessage `json:"updated,omitempty"`
	Start       *int64          `json:"start"`
	End         *int64          `json:"end"`
	Type        *voteType       `json:"type"`
	Title       *string         `json:"title"`
	Body        *string         `json:"body"`
	Discussion  *string         `json:"discussion"`
	Choices     []string        `json:"choices"`
	Quorum      *json.Number    `json:"quorum"`
	State       *string         `json:"state"`
	Link        string          `json:"link"`
	Scores      []json.Number   `json:"scores"`
	ScoresTotal *json.Number    `json:"scores_total"`
	Votes       *int            `json:"votes"`
	Flagged     json.RawMessage `json:"flagged,omitempty"`
	StartDay    string          `json:"start_day,omitempty"`
	EndDay      string          `json:"end_day,omitempty"`
	Plugins     safePlugins     `json:"plugins"`
}

type snapshotRef struct {
	ID string `json:"id"`
}

func (p *proposal) snapshotLine(rng random, r *voteResult) snapshotProposal {
	rng.seed(deriveKey(p.key, streamResult))
	author, state := p.author.String(), p.state.String()
	body := p.content.body(p.dao.headings).markdown(p.dao.headings.mark)
	line := snapshotProposal{
		ID: p.id, Space: snapshotRef{p.space}, Author: &author,
		Created: &p.created, Start: &p.start, End: &p.end,
		Type: &p.content.voteType, Title: &p.content.title, Body: &body,
		Choices: p.content.choices, State: &state, Plugins: p.plugins(), Link: p.link, Quorum: p.drawQuorum(rng, r),
	}
	if p.discussion != "" {
		line.Discussion = &p.discussion
	}
	p.setStatedResult(rng, &line, r)
	if p.dao.index%6 != 5 { // an older kind of export has neither field
		line.Updated, line.Flagged = p.updated(), json.RawMessage("false")
	}
	p.dropFields(&line)
	return line
}

// updated returns the time of the last change, which few proposals have.
func (p *proposal) updated() json.RawMessage {
	if p.serial%11 != 5 {
		return json.RawMessage("null")
	}
	return strconv.AppendInt(nil, p.created+(p.start-p.created)/2, 10)
}

// dropFields removes fields that real data sometimes lacks.
func (p *proposal) dropFields(line *snapshotProposal) {
	if p.isNth(noTitlePeriod) {
		line.Title = nil
	}
	if p.isNth(noBodyPeriod) {
		line.Body = nil
	}
	if p.isNth(noChoicesPeriod) && p.content.voteType.namesOneChoice() {
		line.Choices, line.Scores = nil, nil
	}
	if p.isNth(noAuthorPeriod) {
		line.Author = nil
	}
	if p.isNth(flaggedPeriod) {
		line.Flagged = json.RawMessage("true")
	}
	if p.state != closed {
		return
	}
	if p.isNth(noStatePeriod) {
		line.State = nil
	}
	if p.isNth(dayOnlyPeriod) {
		line.Created, line.Start, line.End = nil, nil, nil
		line.StartDay, line.EndDay = formatDay(p.start), formatDay(p.end)
	}
}

// setStatedResult sets the result that upstream states. A part of the proposals
// states none, and some state more ballots than the files contain.
func (p *proposal) setStatedResult(rng random, line *snapshotProposal, r *voteResult) {
	stated := *r
	switch {
	case p.state == pending || p.hasNoVotes():
		// The stated result is zero votes.
	case p.lacksBallots():
		stated = p.inventResult(rng)
	case p.largest:
	case p.serial*7%20 < 5:
		return
	case p.serial*7%20 < 7:
		stated = p.inflateResult(rng, r)
	}
	line.Votes = &stated.voters
	total := json.Number(stated.total.String())
	line.ScoresTotal = &total
	if !p.content.voteType.statesScores() {
		return
	}
	line.Scores = make([]json.Number, len(stated.scores))
	for i, score := range stated.scores {
		line.Scores[i] = json.Number(score.String())
	}
}

// statesScores reports whether lines state the scores of this vote type. voteResult
// does not implement the rules of the other types.
func (t voteType) statesScores() bool {
	return t.namesOneChoice() || t == approval || t == copeland
}

// inventResult draws the result of a vote whose ballots no file contains.
func (p *proposal) inventResult(rng random) voteResult {
	r := newVoteResult(len(p.content.choices))
	for i := range r.scores {
		r.scores[i], r.votes[i] = drawPower(rng, 0).rounded(), rng.heavyTailed(5)
		r.total = r.total.plus(r.scores[i])
		r.voters += r.votes[i]
	}
	return *r
}

// inflateResult returns a result with more ballots than the files contain.
func (p *proposal) inflateResult(rng random, r *voteResult) voteResult {
	more := drawPower(rng, 0).rounded()
	inflated := *r
	inflated.scores = slices.Clone(r.scores)
	inflated.scores[0] = inflated.scores[0].plus(more)
	inflated.total = inflated.total.plus(more)
	inflated.voters += rng.between(1, 12)
	return inflated
}

// drawQuorum draws a round number near the power cast, 0, or no quorum.
func (p *proposal) drawQuorum(rng random, r *voteResult) *json.Number {
	var quorum json.Number
	switch rng.IntN(5) {
	case 0:
		return nil
	case 1:
		quorum = "0"
	default:
		near := r.total.whole * unsigned(rng.between(1, 13)) / 10
		quorum = json.Number(strconv.FormatUint(roundDown(near), 10))
	}
	return &quorum
}

// roundDown returns the largest 1, 2 or 5 × 10^k that does not exceed n, or 1 for 0.
func roundDown(n uint64) uint64 {
	size := uint64(1)
	for size <= n/10 {
		size *= 10
	}
	switch {
	case n >= 5*size:
		return 5 * size
	case n >= 2*size:
		return 2 * size
	}
	return size
}

func formatDay(unix int64) string {
	return time.Unix(unix, 0).UTC().Format(time.DateOnly)
}
