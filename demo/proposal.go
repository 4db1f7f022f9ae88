package demo

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Rhythms of the oddities that real Snapshot data has. They have no factor in
// common with each other or with the other rhythms, so that oddities meet now and
// then.
const (
	everyUntitled  = 31
	everyBodiless  = 23
	everyUnlisted  = 37
	everyStateless = 29
	everyDayOnly   = 43
	everyAnonymous = 47
	everyFlagged   = 53
	everyCopeland  = 49
	everyUndated   = 17
	everyDated     = 19 // ballots know the day only
	everyClose     = 9  // a close contest
	everyOpposed   = 7  // more against than for
)

// proposal is a proposal before its ballots are counted.
type proposal struct {
	slot
	dao     *dao
	key     uint64
	subject subject
	author  address
	// created, start and end are unix seconds.
	created, start, end int64
	// follows is the off-chain vote that this one carries out.
	follows *proposal
	// id and link are those of the provider; space is empty on chain.
	id, link, space string
	onChain         bool
	// discussion is the address of the forum topic, if there is one.
	discussion string
}

// odd says whether it is the turn of a proposal to have an oddity. The largest one
// has none.
func (p *proposal) odd(every int) bool {
	return !p.largest && p.serial%every == every/2
}

// newProposal makes up a proposal of a DAO.
func (g *generator) newProposal(dao *dao, s slot) *proposal {
	p := &proposal{slot: s, dao: dao, key: keyOf(g.options.Seed, forProposal, natural(s.serial))}
	d := g.dice
	d.seed(p.key)
	p.onChain = dao.onChain(s.index)
	p.author = addressOf(keyOf(g.options.Seed, forVoter), dao.member(natural(d.heavy(5))))
	p.timetable(d, g.now)
	p.subject = g.subjectOf(d, p)
	if p.onChain {
		p.subject.kind, p.subject.choices = basic, g.words.basicChoices
		p.identifyOnChain(d)
	} else {
		p.identify(d)
	}
	return p
}

// subjectOf draws what a proposal is about. On chain only a yes or no can be asked;
// where the DAO has voted off chain before, the same is asked again.
func (g *generator) subjectOf(d dice, p *proposal) subject {
	if before := p.dao.voted; p.onChain && before != nil && before.end < p.start {
		p.follows = before
		return before.subject
	}
	from := g.words.families
	switch {
	case p.onChain, p.largest, p.dao.hybrid() && p.index%3 == 1:
		from = g.words.byShape[yesOrNo]
	case p.odd(everyCopeland):
		from = g.words.byShape[slate]
	}
	s := g.words.drawSubject(d, p.dao, from, time.Unix(p.created, 0).UTC())
	if p.odd(everyCopeland) && s.family.shape == slate {
		s.kind = copeland
	}
	s.title = numbered(p.dao.code, p.index+1, s.title)
	return s
}

func (p *proposal) identify(d dice) {
	p.id = string(appendHash(nil, drawHash(d)))
	p.space = p.dao.spaces[p.index%len(p.dao.spaces)]
	p.link = "https://snapshot.org/#/" + p.space + "/proposal/" + p.id
}

// timetable sets the times: those of closed votes become rarer with age, open ones
// end within days, and pending ones start within days.
func (p *proposal) timetable(d dice, now int64) {
	duration := p.dao.duration
	switch p.stage {
	case closed:
		newer, all := int64(p.newer), int64(p.newer+p.index+1)
		p.end = now - 30*hour - p.dao.age*newer/all*newer/all - d.Int64N(20*hour)
		p.start = p.end - duration
	case active:
		left := 2*hour + d.Int64N(28*hour)
		if p.newer%2 == 1 {
			left = 26*hour + d.Int64N(duration-30*hour)
		}
		p.end = now + left
		p.start = p.end - duration
	case pending:
		p.start = now + 4*hour + d.Int64N(56*hour)
		p.end = p.start + duration
		p.created = now - 2*hour - d.Int64N(18*hour)
		return
	}
	p.created = p.start - d.Int64N(2*day)
}

// snapshotProposal is a line of Snapshot's proposals.ndjson.gz. Fields that may be
// missing altogether are raw.
type snapshotProposal struct {
	ID          string          `json:"id"`
	Space       ref             `json:"space"`
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
}

// ref names another object.
type ref struct {
	ID string `json:"id"`
}

// snapshot describes the proposal as Snapshot publishes it once its ballots are
// counted.
func (p *proposal) snapshot(d dice, c *count) snapshotProposal {
	d.seed(keyOf(p.key, forResult))
	author, state := p.author.String(), p.stage.String()
	body := p.subject.body(p.dao.headings).markdown(p.dao.headings.mark)
	line := snapshotProposal{
		ID: p.id, Space: ref{p.space}, Author: &author, Created: &p.created, Start: &p.start, End: &p.end,
		Type: &p.subject.kind, Title: &p.subject.title, Body: &body, Choices: p.subject.choices,
		State: &state, Link: p.link, Quorum: p.quorum(d, c),
	}
	if p.discussion != "" {
		line.Discussion = &p.discussion
	}
	p.state(d, &line, c)
	if p.dao.index%6 != 5 { // an older kind of export has neither field
		line.Updated, line.Flagged = p.updated(), json.RawMessage("false")
	}
	p.spoil(&line)
	return line
}

// updated says when the proposal was changed, which few are.
func (p *proposal) updated() json.RawMessage {
	if p.serial%11 != 5 {
		return json.RawMessage("null")
	}
	return strconv.AppendInt(nil, p.created+(p.start-p.created)/2, 10)
}

// spoil leaves out what real data sometimes lacks.
func (p *proposal) spoil(line *snapshotProposal) {
	if p.odd(everyUntitled) {
		line.Title = nil
	}
	if p.odd(everyBodiless) {
		line.Body = nil
	}
	if p.odd(everyUnlisted) && p.subject.kind.single() {
		line.Choices, line.Scores = nil, nil
	}
	if p.odd(everyAnonymous) {
		line.Author = nil
	}
	if p.odd(everyFlagged) {
		line.Flagged = json.RawMessage("true")
	}
	if p.stage != closed {
		return
	}
	if p.odd(everyStateless) {
		line.State = nil
	}
	if p.odd(everyDayOnly) {
		line.Created, line.Start, line.End = nil, nil, nil
		line.StartDay, line.EndDay = dayOf(p.start), dayOf(p.end)
	}
}

// state sets what upstream says about the result.
func (p *proposal) state(d dice, line *snapshotProposal, c *count) {
	said := *c
	switch {
	case p.stage == pending || p.quiet():
		// Nobody has voted, and upstream says so.
	case p.unheld():
		said = p.imagined(d)
	case p.largest:
	case p.serial*7%20 < 5:
		return
	case p.serial*7%20 < 7:
		said = p.beyond(d, c)
	}
	line.Votes = &said.voters
	total := said.total.number()
	line.ScoresTotal = &total
	if !p.subject.kind.stated() {
		return
	}
	line.Scores = make([]json.Number, len(said.scores))
	for i, score := range said.scores {
		line.Scores[i] = score.number()
	}
}

// stated says whether upstream's totals per choice are given. Those of the other
// types follow rules that are the importer's to apply.
func (t voteType) stated() bool {
	return t.single() || t == approval || t == copeland
}

// imagined returns the result of a vote whose ballots are not in the files.
func (p *proposal) imagined(d dice) count {
	c := newCount(len(p.subject.choices))
	for i := range c.scores {
		c.scores[i], c.votes[i] = drawPower(d, 0).counted(), d.heavy(5)
		c.total = c.total.plus(c.scores[i])
		c.voters += c.votes[i]
	}
	return *c
}

// beyond returns the result of a vote of which some ballots are not in the files.
func (p *proposal) beyond(d dice, c *count) count {
	more := drawPower(d, 0).counted()
	said := *c
	said.scores = slices.Clone(c.scores)
	said.scores[0] = said.scores[0].plus(more)
	said.total = said.total.plus(more)
	said.voters += d.between(1, 12)
	return said
}

// quorum draws a quorum near what was cast: a round number, 0 or none.
func (p *proposal) quorum(d dice, c *count) *json.Number {
	var quorum json.Number
	switch d.IntN(5) {
	case 0:
		return nil
	case 1:
		quorum = "0"
	default:
		quorum = json.Number(strconv.FormatUint(roundNumber(c.total.units*natural(d.between(1, 13))/10), 10))
	}
	return &quorum
}

// roundNumber cuts a number to 1, 2 or 5 and zeros.
func roundNumber(n uint64) uint64 {
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

// String returns the stage as Snapshot and Tally call it.
func (s stage) String() string {
	return [...]string{closed: "closed", active: "active", pending: "pending"}[s]
}

func dayOf(unix int64) string {
	return time.Unix(unix, 0).UTC().Format(time.DateOnly)
}
