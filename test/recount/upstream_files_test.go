package recount_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The shapes here are upstream's, as the files of the data set hold them. Every
// number is kept as the text it was published in.

// upstreamDAO says which sources make up a DAO.
type upstreamDAO struct {
	DAOID   string           `json:"daoId"`
	Name    string           `json:"name"`
	Sources []upstreamSource `json:"sources"`
}

// upstreamSource is one source of a DAO.
type upstreamSource struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// snapshotProposal is a proposal of Snapshot's hub.
type snapshotProposal struct {
	ID    string `json:"id"`
	Space struct {
		ID string `json:"id"`
	} `json:"space"`
	Author       *string       `json:"author"`
	Created      *json.Number  `json:"created"`
	Start        *json.Number  `json:"start"`
	End          *json.Number  `json:"end"`
	StartDay     *string       `json:"start_day"`
	EndDay       *string       `json:"end_day"`
	Type         *string       `json:"type"`
	Title        *string       `json:"title"`
	Body         *string       `json:"body"`
	Discussion   *string       `json:"discussion"`
	Choices      []string      `json:"choices"`
	Quorum       *json.Number  `json:"quorum"`
	State        *string       `json:"state"`
	Link         *string       `json:"link"`
	Scores       []json.Number `json:"scores"`
	ScoresTotal  *json.Number  `json:"scores_total"`
	Votes        *json.Number  `json:"votes"`
	SourceStatus *string       `json:"source_status"`
	Updated      *json.Number  `json:"updated"`
	Flagged      *bool         `json:"flagged"`
}

// snapshotBallot is a ballot of Snapshot's hub.
type snapshotBallot struct {
	ID       string `json:"id"`
	Proposal struct {
		ID string `json:"id"`
	} `json:"proposal"`
	Space struct {
		ID string `json:"id"`
	} `json:"space"`
	Voter      string          `json:"voter"`
	Created    *json.Number    `json:"created"`
	CreatedDay *string         `json:"created_day"`
	Choice     json.RawMessage `json:"choice"`
	Power      json.Number     `json:"vp"`
	Reason     *string         `json:"reason"`
}

// tallyProposal is a proposal of an on-chain Governor, as Tally answers.
type tallyProposal struct {
	ID           string `json:"id"`
	OnchainID    string `json:"onchainId"`
	Organization struct {
		Slug string `json:"slug"`
	} `json:"organization"`
	Status   *string `json:"status"`
	Quorum   *string `json:"quorum"`
	Metadata struct {
		Title        *string `json:"title"`
		Description  *string `json:"description"`
		DiscourseURL *string `json:"discourseURL"`
	} `json:"metadata"`
	Proposer struct {
		Address *string `json:"address"`
	} `json:"proposer"`
	Start     tallyTime  `json:"start"`
	End       tallyTime  `json:"end"`
	CreatedAt *time.Time `json:"createdAt"`
	VoteStats []struct {
		VotersCount json.Number `json:"votersCount"`
	} `json:"voteStats"`
}

// tallyTime is when a block was made.
type tallyTime struct {
	Timestamp *time.Time `json:"timestamp"`
}

// tallyBallot is a ballot cast on chain, as Tally answers.
type tallyBallot struct {
	ID       string `json:"id"`
	Proposal struct {
		ID string `json:"id"`
	} `json:"proposal"`
	Type  string `json:"type"`
	Voter struct {
		Address string `json:"address"`
	} `json:"voter"`
	Amount string    `json:"amount"`
	Reason *string   `json:"reason"`
	Block  tallyTime `json:"block"`
}

// discourseTopic is a topic of a forum.
type discourseTopic struct {
	CreatedAt    *time.Time `json:"created_at"`
	LastPostedAt *time.Time `json:"last_posted_at"`
	Visible      bool       `json:"visible"`
}

// upstream is everything the data set holds.
type upstream struct {
	daos              []upstreamDAO
	snapshotProposals []snapshotProposal
	snapshotBallots   []snapshotBallot
	tallyProposals    []tallyProposal
	tallyBallots      []tallyBallot
	topics            map[string][]discourseTopic // by host
}

// readUpstream reads the whole folder.
func readUpstream(dir string) (up *upstream, err error) {
	up = &upstream{topics: map[string][]discourseTopic{}}
	if up.daos, err = readLines[upstreamDAO](dir, "daos.ndjson"); err != nil {
		return nil, err
	}
	if up.snapshotProposals, err = readLines[snapshotProposal](dir, "snapshot", "proposals.ndjson.gz"); err != nil {
		return nil, err
	}
	if up.snapshotBallots, err = readLines[snapshotBallot](dir, "snapshot", "votes", "*.ndjson.gz"); err != nil {
		return nil, err
	}
	if up.tallyProposals, err = readLines[tallyProposal](dir, "tally", "proposals.ndjson.gz"); err != nil {
		return nil, err
	}
	if up.tallyBallots, err = readLines[tallyBallot](dir, "tally", "votes.ndjson.gz"); err != nil {
		return nil, err
	}
	hosts, err := filepath.Glob(filepath.Join(dir, "discourse", "*"))
	for _, host := range hosts {
		topics, unread := readLines[discourseTopic](host, "topics.ndjson.gz")
		up.topics[filepath.Base(host)], err = topics, errors.Join(err, unread)
	}
	return up, err
}

// newest is the newest time up to now at which a record of a source was created, cast or updated;
// nil where no time is known.
func (up *upstream) newest(source upstreamSource, now time.Time) (at *time.Time) {
	add := func(times ...*time.Time) {
		for _, t := range times {
			if t != nil && !t.After(now) {
				at = later(at, t)
			}
		}
	}
	switch source.Provider {
	case "snapshot":
		for _, p := range up.snapshotProposals {
			if p.Space.ID == source.ID {
				add(moment(p.Created, nil), moment(p.Updated, nil))
			}
		}
		for _, b := range up.snapshotBallots {
			if b.Space.ID == source.ID {
				add(moment(b.Created, b.CreatedDay))
			}
		}
	case "tally":
		of := map[string]bool{}
		for _, p := range up.tallyProposals {
			if p.Organization.Slug == source.ID {
				of[p.ID] = true
				add(p.CreatedAt)
			}
		}
		for _, b := range up.tallyBallots {
			if of[b.Proposal.ID] {
				add(b.Block.Timestamp)
			}
		}
	case "discourse":
		for _, topic := range up.topics[source.ID] {
			if topic.Visible {
				add(cmp.Or(topic.LastPostedAt, topic.CreatedAt))
			}
		}
	}
	return at
}

// readLines reads all files of a pattern, two at a time.
func readLines[T any](pattern ...string) (all []T, err error) {
	paths, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		return nil, err
	}
	read, errs := make([][]T, len(paths)), make([]error, len(paths))
	turn := make(chan struct{}, 2)
	var wait sync.WaitGroup
	for i, path := range paths {
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			read[i], errs[i] = readFile[T](path)
		})
	}
	wait.Wait()
	return slices.Concat(read...), errors.Join(errs...)
}

// readFile reads a file of one JSON object a line, gzipped or plain.
func readFile[T any](path string) (lines []T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text io.Reader = bufio.NewReader(file)
	if strings.HasSuffix(path, ".gz") {
		if text, err = gzip.NewReader(text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	decoder := json.NewDecoder(text)
	for {
		var line T
		switch err := decoder.Decode(&line); {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("%s, record %d: %w", path, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
}

// power is an exact amount of voting power: a whole number of 10⁻¹⁸.
type power = *big.Int

// places is how many decimal places a power has.
const places = 18

func tenTo(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// exact reads a number from its text, whatever its notation.
func exact(text string) *big.Rat {
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a number: " + text)
	}
	return value
}

// powerOf is the number of 10⁻¹⁸ in a value, which is not negative: half up, as the
// data set says of powers with more decimal places.
func powerOf(value *big.Rat) power {
	scaled := new(big.Int).Mul(value.Num(), tenTo(places))
	scaled.Add(scaled.Lsh(scaled, 1), value.Denom())
	return scaled.Quo(scaled, new(big.Int).Lsh(value.Denom(), 1))
}

// isWhole reports whether a value is a whole number of 10⁻¹⁸.
func isWhole(value *big.Rat) bool {
	return new(big.Rat).Mul(value, new(big.Rat).SetInt(tenTo(places))).IsInt()
}

// decimalText is units × 10⁻ᵖˡᵃᶜᵉˢ, without needless zeros.
func decimalText(units *big.Int, places int) string {
	text := fmt.Sprintf("%0*d", places+1, units)
	whole, fraction := text[:len(text)-places], text[len(text)-places:]
	return strings.TrimSuffix(whole+"."+strings.TrimRight(fraction, "0"), ".")
}

// ratio returns the value of a power.
func ratio(units power) *big.Rat { return new(big.Rat).SetFrac(units, tenTo(places)) }

// pollsOf makes polls of everything upstream published, each with its ballots, by key.
// It also counts the ballots of no known proposal, by the key this would have.
func pollsOf(up *upstream) (polls map[string]*poll, waiting map[string]int, err error) {
	owner := map[upstreamSource]string{}
	for _, dao := range up.daos {
		for _, source := range dao.Sources {
			owner[source] = dao.DAOID
		}
	}
	polls, waiting = map[string]*poll{}, map[string]int{}
	known := map[upstreamSource]*poll{} // by provider and the proposal's id there
	add := func(p *poll, source string) {
		p.space, p.daoID = source, owner[upstreamSource{p.provider, source}]
		if p.daoID == "" {
			err = fmt.Errorf("no DAO claims %s %s: this recount has no name for it", p.provider, source)
		}
		polls[p.key()], known[upstreamSource{p.provider, p.externalID}] = p, p
	}
	for _, from := range up.snapshotProposals {
		add(snapshotPoll(from), from.Space.ID)
	}
	for _, from := range up.tallyProposals {
		add(tallyPoll(from), from.Organization.Slug)
	}
	for _, b := range up.snapshotBallots {
		p := known[upstreamSource{"snapshot", b.Proposal.ID}]
		if p == nil {
			p = &poll{daoID: owner[upstreamSource{"snapshot", b.Space.ID}], provider: "snapshot", externalID: b.Proposal.ID}
			waiting[p.key()]++
		}
		p.casts = append(p.casts, cast{
			id: b.ID, voter: identity(b.Voter), at: moment(b.Created, b.CreatedDay), dayOnly: b.Created == nil,
			choice: b.Choice, reason: strings.TrimSpace(text(b.Reason)), power: powerOf(exact(b.Power.String())), rounded: !isWhole(exact(b.Power.String())),
		})
	}
	for _, b := range up.tallyBallots {
		p := known[upstreamSource{"tally", b.Proposal.ID}]
		if p == nil {
			return nil, nil, fmt.Errorf("ballot %s: this recount does not know whose proposal %s would be", b.ID, b.Proposal.ID)
		}
		p.casts = append(p.casts, cast{
			id: b.ID, voter: identity(b.Voter.Address), at: b.Block.Timestamp,
			choice: json.RawMessage(strconv.Itoa(1 + slices.Index(governorChoices(), b.Type))),
			reason: strings.TrimSpace(text(b.Reason)), power: powerOf(wholeTokens(b.Amount)),
		})
	}
	for _, p := range polls {
		p.ballots = latest(p.casts)
	}
	return polls, waiting, err
}

// wholeTokens turns an amount in a token's smallest unit into tokens.
func wholeTokens(amount string) *big.Rat {
	return new(big.Rat).Quo(exact(amount), new(big.Rat).SetInt(tenTo(places)))
}

func governorChoices() []string { return []string{"for", "against", "abstain"} }

func snapshotPoll(from snapshotProposal) *poll {
	p := &poll{
		provider: "snapshot", externalID: from.ID, kind: text(from.Type),
		body: body(from.Body), proposer: from.Author, spam: from.Flagged != nil && *from.Flagged,
		link: trimmed(from.Link), discussion: trimmed(from.Discussion),
		status: text(from.State), source: text(from.SourceStatus),
		created: moment(from.Created, nil), updated: moment(from.Updated, nil),
		start: moment(from.Start, from.StartDay), end: moment(from.End, from.EndDay), dayOnly: from.Start == nil || from.End == nil,
	}
	p.title, p.derived = shownTitle(from.Title, p.body)
	for i, label := range from.Choices {
		p.keys, p.labels = append(p.keys, strconv.Itoa(i+1)), append(p.labels, label)
	}
	for _, score := range from.Scores {
		p.scores = append(p.scores, exact(score.String()))
	}
	if from.Quorum != nil {
		p.quorum = new(from.Quorum.String())
	}
	if from.ScoresTotal != nil {
		p.total = exact(from.ScoresTotal.String())
	}
	if from.Votes != nil {
		p.stated = new(int(exact(from.Votes.String()).Num().Int64()))
	}
	return p
}

func tallyPoll(from tallyProposal) *poll {
	link := "https://www.tally.xyz/gov/" + from.Organization.Slug + "/proposal/" + from.OnchainID
	p := &poll{
		provider: "tally", externalID: from.ID, kind: "single-choice",
		body:     body(from.Metadata.Description),
		proposer: from.Proposer.Address, link: &link, discussion: trimmed(from.Metadata.DiscourseURL),
		keys: governorChoices(), labels: []string{"For", "Against", "Abstain"},
		quorum: from.Quorum, status: text(from.Status),
		created: from.CreatedAt, start: from.Start.Timestamp, end: from.End.Timestamp,
	}
	p.title, p.derived = shownTitle(from.Metadata.Title, p.body)
	for _, stats := range from.VoteStats {
		if p.stated == nil {
			p.stated = new(int)
		}
		*p.stated += int(exact(stats.VotersCount.String()).Num().Int64())
	}
	return p
}

// text returns a text, or "" for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// trimmed is a title or a link without white space around it; nothing is null.
func trimmed(s *string) *string {
	if t := strings.TrimSpace(text(s)); t != "" {
		return &t
	}
	return nil
}

// body is a text with one kind of line end, white space around it kept; a blank one
// is null.
func body(s *string) *string {
	if trimmed(s) == nil {
		return nil
	}
	return new(strings.ReplaceAll(*s, "\r\n", "\n"))
}

// identity returns the identity of a voter: the address in lower case.
func identity(voter string) string {
	if strings.HasPrefix(strings.ToLower(voter), "0x") {
		return strings.ToLower(voter)
	}
	return voter
}

// moment returns a time in Unix seconds, or midnight if only the day is known.
func moment(seconds *json.Number, day *string) *time.Time {
	if seconds != nil {
		return new(time.Unix(exact(seconds.String()).Num().Int64(), 0).UTC())
	}
	if day == nil {
		return nil
	}
	midnight, err := time.Parse(time.DateOnly, *day)
	if err != nil {
		panic(err)
	}
	return &midnight
}
