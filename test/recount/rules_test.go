package recount_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"pnyx/test/env"
)

// poll is a proposal of any provider before its ballots are counted.
type poll struct {
	daoID, provider, space, externalID      string
	title, body, proposer, link, discussion *string
	derived                                 bool // of the title: it is taken from the body
	spam                                    bool

	kind    string   // how ballots are counted, as Snapshot names it; "" where not stated
	keys    []string // of the choices, where their number is stated
	labels  []string
	quorum  *string // as published
	stated  *int    // ballots, as upstream counted them
	scores  []*big.Rat
	total   *big.Rat // power, as upstream counted it
	status  string   // upstream's name of its state
	source  string   // the DAO's own name of its state, which overrides Snapshot's
	created *time.Time
	updated *time.Time
	start   *time.Time
	end     *time.Time
	dayOnly bool // of start or end

	casts   []cast
	ballots []cast // those that count
	lacks   bool   // a file of its ballots was cut off

	once  sync.Once
	whole bool // the result of wantsAll
}

// cast is one ballot as it was cast; a later one of the same voter replaces it.
type cast struct {
	id, voter string
	at        *time.Time
	dayOnly   bool
	choice    json.RawMessage
	reason    string
	power     power
	rounded   bool // from more decimal places than it has
}

// key is the proposal's key: 128 bits of a hash of what identifies it.
func (p *poll) key() string {
	sum := sha256.Sum256([]byte(p.daoID + "\x00" + p.provider + "\x00" + p.externalID))
	return "p1_" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// latest returns the one ballot of each voter that counts, by voter.
func latest(casts []cast) []cast {
	byVoter := map[string]cast{}
	for _, c := range casts {
		if before, again := byVoter[c.voter]; !again || replaces(c, before) {
			byVoter[c.voter] = c
		}
	}
	return slices.SortedFunc(maps.Values(byVoter), func(a, b cast) int { return cmp.Compare(a.voter, b.voter) })
}

// replaces reports whether a counts instead of b: dated precedes undated, later precedes
// earlier, and the greater id precedes the smaller.
func replaces(a, b cast) bool {
	switch {
	case (a.at == nil) != (b.at == nil):
		return a.at != nil
	case a.at != nil && !a.at.Equal(*b.at):
		return a.at.After(*b.at)
	default:
		return a.id > b.id
	}
}

// held reports whether the ballots themselves can be counted.
func (p *poll) held() bool { return len(p.casts) > 0 || p.stated != nil && *p.stated == 0 }

// settled reports whether what upstream states of the votes is final.
func (p *poll) settled() bool { return !slices.Contains([]string{"", "active", "pending"}, p.status) }

// statement returns the power that upstream states of all votes, and of each choice where
// it states these; there is no total where votes of several choices are stated by choice alone.
func (p *poll) statement() (total *big.Rat, scores []*big.Rat) {
	if len(p.scores) > 0 && len(p.scores) == len(p.keys) {
		scores = p.scores
	}
	if total = p.total; total == nil && scores != nil && p.kind != "approval" && p.kind != "ranked-choice" {
		total = new(big.Rat)
		for _, score := range scores {
			total.Add(total, score)
		}
	}
	return total, scores
}

// basis returns what the totals of a vote are.
func (p *poll) basis(now time.Time, result count) string {
	total, scores := p.statement()
	over := p.lifecycle(now) == "closed"
	if total != nil && (p.settled() || !over) {
		differs := p.stated != nil && *p.stated > len(p.ballots) || total.Cmp(ratio(result.power)) > 0 && apart(total, ratio(result.power))
		if over {
			differs = differs || p.stated != nil && *p.stated != len(p.ballots) || apart(total, ratio(result.power))
			for i, score := range scores {
				differs = differs || apart(score, ratio(result.lines[i].power))
			}
		}
		if differs || !p.held() {
			return "upstream"
		}
	}
	if p.held() {
		return "ballots"
	}
	return ""
}

// apart reports whether two amounts are further apart than floating point makes them.
func apart(a, b *big.Rat) bool {
	larger := big.NewRat(1, 1)
	for _, amount := range []*big.Rat{a, b} {
		if amount.Cmp(larger) > 0 {
			larger = amount
		}
	}
	distance := new(big.Rat).Sub(a, b)
	return distance.Abs(distance).Cmp(new(big.Rat).Quo(larger, new(big.Rat).SetInt(tenTo(9)))) > 0
}

// partial reports whether upstream counted more ballots than are stored, or a file lacked some that upstream does
// not count.
func (p *poll) partial() bool {
	return p.stated != nil && *p.stated > len(p.ballots) || p.lacks && (p.stated == nil || *p.stated != len(p.ballots))
}

// lifecycle derives the state from the clock if the times are known, else from
// upstream's state. A proposal that no source calls open is not open.
func (p *poll) lifecycle(now time.Time) string {
	switch {
	case p.start != nil && now.Before(*p.start):
		return "pending"
	case p.end != nil && now.Before(*p.end):
		return "active"
	case p.end == nil && (p.status == "active" || p.status == "pending"):
		return p.status
	default:
		return "closed"
	}
}

// line is the result of one choice.
type line struct {
	votes int
	power power
}

// count is the result of a proposal.
type count struct {
	lines []line // by position
	votes int
	power power
}

// result counts the ballots.
func (p *poll) result() (count, error) {
	total := count{votes: len(p.ballots), power: new(big.Int)}
	shares := make([]map[int]power, len(p.ballots))
	choices := len(p.keys)
	for i, b := range p.ballots {
		total.power.Add(total.power, b.power)
		var err error
		if shares[i], err = p.share(b); err != nil {
			return count{}, fmt.Errorf("ballot %s of %s: %w", b.id, p.externalID, err)
		}
		if p.keys == nil {
			choices = max(choices, slices.Max(append(slices.Collect(maps.Keys(shares[i])), 0)))
		}
	}
	if p.kind == "ranked-choice" {
		ranked, err := runOff(slices.DeleteFunc(slices.Clone(p.ballots), p.invalid))
		if err != nil {
			return count{}, fmt.Errorf("%s: %w", p.externalID, err)
		}
		shares = ranked
	}
	total.lines = make([]line, choices)
	for i := range total.lines {
		total.lines[i].power = new(big.Int)
		for _, share := range shares {
			if part, supported := share[i+1]; supported {
				total.lines[i].votes++
				total.lines[i].power.Add(total.lines[i].power, part)
			}
		}
	}
	return total, nil
}

// share returns the power that a ballot gives to each position it supports: none where it is
// invalid.
func (p *poll) share(b cast) (map[int]power, error) {
	if p.invalid(b) {
		return map[int]power{}, nil
	}
	switch p.kind {
	case "single-choice", "basic", "":
		var position int
		err := json.Unmarshal(b.choice, &position)
		return map[int]power{position: b.power}, err
	case "approval", "ranked-choice":
		var positions []int
		err := json.Unmarshal(b.choice, &positions)
		whole := map[int]power{}
		for _, position := range positions {
			whole[position] = b.power
		}
		return whole, err
	case "weighted":
		return split(b)
	default:
		return nil, fmt.Errorf("no rule for a ballot of type %q", p.kind)
	}
}

// split gives each choice power × weight ÷ sum of weights, truncated. The remainder goes
// to the largest weight, the first of equals.
func split(b cast) (map[int]power, error) {
	var weights map[int]json.Number
	if err := json.Unmarshal(b.choice, &weights); err != nil {
		return nil, err
	}
	parts, sum := map[int]power{}, new(big.Rat)
	for _, weight := range weights {
		sum.Add(sum, exact(weight.String()))
	}
	left, largest, most := new(big.Int).Set(b.power), 0, new(big.Rat)
	for _, position := range slices.Sorted(maps.Keys(weights)) {
		weight := exact(weights[position].String())
		if weight.Sign() <= 0 {
			continue
		}
		if weight.Cmp(most) > 0 {
			largest, most = position, weight
		}
		part := new(big.Rat).Mul(new(big.Rat).SetInt(b.power), weight)
		part.Quo(part, sum)
		parts[position] = new(big.Int).Quo(part.Num(), part.Denom())
		left.Sub(left, parts[position])
	}
	if largest > 0 {
		parts[largest].Add(parts[largest], left)
	}
	return parts, nil
}

// runOff computes Snapshot's instant run-off and returns what each ballot gives in the
// last round. Candidates are all choices that any ballot ranks. While three or more
// remain and none has more than half of the power, the smallest (of equals, the first)
// is eliminated.
func runOff(ballots []cast) ([]map[int]power, error) {
	ranks := make([][]int, len(ballots))
	candidates := map[int]power{}
	for i, b := range ballots {
		if err := json.Unmarshal(b.choice, &ranks[i]); err != nil {
			return nil, err
		}
		for _, position := range ranks[i] {
			candidates[position] = nil
		}
	}
	for {
		total := new(big.Int)
		for position := range candidates {
			candidates[position] = new(big.Int)
		}
		for i, b := range ballots {
			if len(ranks[i]) > 0 {
				candidates[ranks[i][0]].Add(candidates[ranks[i][0]], b.power)
				total.Add(total, b.power)
			}
		}
		first, last := 0, 0
		for _, position := range slices.Sorted(maps.Keys(candidates)) {
			if first == 0 || candidates[position].Cmp(candidates[first]) > 0 {
				first = position
			}
			if last == 0 || candidates[position].Cmp(candidates[last]) < 0 {
				last = position
			}
		}
		if len(candidates) < 3 || new(big.Int).Lsh(candidates[first], 1).Cmp(total) > 0 {
			break
		}
		delete(candidates, last)
		for i := range ranks {
			ranks[i] = slices.DeleteFunc(ranks[i], func(position int) bool { return position == last })
		}
	}
	shares := make([]map[int]power, len(ballots))
	for i, b := range ballots {
		if len(ranks[i]) > 0 {
			shares[i] = map[int]power{ranks[i][0]: b.power}
		}
	}
	return shares, nil
}

// named returns keys and labels of the choices. Choices that upstream does not list are
// named after the positions that ballots support.
func (p *poll) named(result count) (keys, labels []string) {
	if p.keys != nil {
		return p.keys, p.labels
	}
	for i := range result.lines {
		keys = append(keys, strconv.Itoa(i+1))
		labels = append(labels, p.choiceLabel(i+1))
	}
	return keys, labels
}

// counted returns the power that counts toward the quorum: of all ballots, or of
// for and abstain on a Governor.
func (p *poll) counted(result count) *big.Rat {
	if p.provider == "tally" {
		return ratio(new(big.Int).Add(result.lines[0].power, result.lines[2].power))
	}
	return ratio(result.power)
}

// quorumValue is the published quorum in whole tokens.
func (p *poll) quorumValue() *big.Rat {
	if p.provider == "tally" {
		return wholeTokens(*p.quorum)
	}
	return exact(*p.quorum)
}

// progress returns counted power ÷ quorum, truncated to 6 decimals.
func progress(counted, quorum *big.Rat) string {
	if quorum.Sign() == 0 {
		return "1"
	}
	part := new(big.Rat).Quo(counted, quorum)
	part.Mul(part, new(big.Rat).SetInt(tenTo(6)))
	return decimalText(new(big.Int).Quo(part.Num(), part.Denom()), 6)
}

// outcome returns upstream's outcome if stated, else computes it if the rule is known.
func (p *poll) outcome(now time.Time, result count) string {
	known := ""
	switch {
	case p.provider == "tally":
		known = map[string]string{
			"succeeded": "passed", "queued": "passed", "executed": "executed",
			"defeated": "failed", "expired": "failed", "canceled": "canceled",
		}[p.status]
	case p.source != "":
		known = map[string]string{
			"passed": "passed", "enacted": "executed",
			"rejected": "failed", "out_of_budget": "failed", "deleted": "canceled",
		}[p.source]
	case p.lifecycle(now) == "closed" && (p.kind == "single-choice" || p.kind == "basic"):
		known = p.verdict(now, result)
	}
	return cmp.Or(known, "unknown")
}

// verdict compares for with against by the totals of the basis, and applies the quorum if
// there is one.
func (p *poll) verdict(now time.Time, result count) string {
	inFavour, against := p.sides()
	scores, counted := p.totals(now, result)
	if inFavour < 0 || against < 0 || scores == nil || !p.decides(now, result) {
		return ""
	}
	for len(scores) < 2 { // what a basic vote lacks got no power
		scores = append(scores, new(big.Rat))
	}
	met := !p.hasQuorum() || counted.Cmp(p.quorumValue()) >= 0
	if met && scores[inFavour].Cmp(scores[against]) > 0 {
		return "passed"
	}
	return "failed"
}

// decides reports whether the totals of the basis are final.
func (p *poll) decides(now time.Time, result count) bool {
	total, _ := p.statement()
	final := total == nil || p.settled()
	return p.basis(now, result) == "upstream" && final || p.basis(now, result) == "ballots" && final && !p.partial()
}

// totals returns the power of each choice by the basis, nil where it is not known, and what
// counts towards the quorum.
func (p *poll) totals(now time.Time, result count) (scores []*big.Rat, counted *big.Rat) {
	if p.basis(now, result) == "upstream" {
		total, scores := p.statement()
		return scores, total
	}
	scores = []*big.Rat{}
	for _, l := range result.lines {
		scores = append(scores, ratio(l.power))
	}
	return scores, p.counted(result)
}

// hasQuorum reports whether a quorum above zero is published.
func (p *poll) hasQuorum() bool { return p.quorum != nil && p.quorumValue().Sign() > 0 }

// sides returns the one choice for and the one choice against. All other choices must
// be abstentions.
func (p *poll) sides() (inFavour, against int) {
	if p.kind == "basic" {
		return 0, 1
	}
	sides := map[string][]int{}
	for i, label := range p.labels {
		sides[side(label)] = append(sides[side(label)], i)
	}
	// What is to be done, or nothing.
	if len(sides["undone"]) == 1 && len(sides["other"]) == 1 && len(sides["for"])+len(sides["against"]) == 0 && proposes(p.labels[sides["other"][0]]) {
		return sides["other"][0], sides["undone"][0]
	}
	sides["against"] = append(sides["against"], sides["undone"]...)
	if len(sides["for"]) != 1 || len(sides["against"]) != 1 || len(sides["other"]) > 0 {
		return -1, -1
	}
	return sides["for"][0], sides["against"][0]
}

// side classifies a label by its only word or by a separate first word: "No",
// "No, keep it", "NO - do nothing", but not "No Veto".
func side(label string) string {
	label = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(label)), "’", "'")
	if undone(label) {
		return "undone"
	}
	for side, words := range map[string][]string{
		"for": {
			"for", "yes", "yay", "approve", "accept", "agree", "in favor", "in favour", "vote yes", "extend", "sure", "oui", "sì", "会", "肯定会", "是的",
		},
		"against": {
			"against", "no", "nay", "nah", "reject", "deny", "decline", "disapprove", "refuse", "disagree", "vote no", "no need",
			"agaiinst", "againt", "dissapprove", "non", "不会", "不是",
		},
		"abstain": {"abstain"},
	} {
		for _, word := range words {
			rest, begins := strings.CutPrefix(label, word)
			next, _ := utf8.DecodeRuneInString(strings.TrimSpace(rest))
			if begins && (rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next)) {
				return side
			}
		}
	}
	first, rest, _ := strings.Cut(label, " ")
	second, _, _ := strings.Cut(rest, " ")
	switch {
	case second == "":
	case slices.Contains([]string{"approve", "accept"}, first), slices.Contains([]string{"yes to", "yes for", "for this", "in support"}, first+" "+strings.Trim(second, ",")):
		return "for"
	case slices.Contains([]string{"reject", "disapprove", "refuse"}, first), first+" "+second == "no to":
		return "against"
	}
	return "other"
}

// undone reports whether a label says that nothing is done.
func undone(label string) bool {
	label, _, _ = strings.Cut(label, " (")
	stays := strings.HasSuffix(strings.TrimRight(label, ". "), " as is") || strings.HasSuffix(label, " as it is") || strings.HasSuffix(label, " as they are")
	for _, prefix := range []string{"do not ", "don't ", "do nothing", "no change", "make no change", "take no action"} {
		if strings.HasPrefix(label, prefix) && !strings.Contains(label, "veto") {
			return true
		}
	}
	return stays && (strings.HasPrefix(label, "keep ") || strings.HasPrefix(label, "leave ")) || strings.HasPrefix(label, "keep") && strings.HasSuffix(strings.TrimSpace(label), "status quo")
}

// proposes reports whether a label says what is to be done.
func proposes(label string) bool {
	return !slices.ContainsFunc([]string{"more discussion", "revision", "veto", "neither", "other", "unsure", "later"}, func(word string) bool {
		return strings.Contains(strings.ToLower(label), word)
	})
}

// choiceKey returns the key of the choice that a ballot supports. Of several it is the
// first, or the one with the largest weight (of equals, the first). There may be none.
func (p *poll) choiceKey(b cast) *string {
	if p.invalid(b) {
		return nil
	}
	var position int
	var positions []int
	var weights map[int]json.Number
	switch {
	case json.Unmarshal(b.choice, &position) == nil:
	case json.Unmarshal(b.choice, &positions) == nil:
		if len(positions) > 0 {
			position = positions[0]
		}
	case json.Unmarshal(b.choice, &weights) == nil:
		most := new(big.Rat)
		for _, at := range slices.Sorted(maps.Keys(weights)) {
			if weight := exact(weights[at].String()); weight.Cmp(most) > 0 {
				position, most = at, weight
			}
		}
	}
	switch {
	case position == 0:
		return nil
	case p.provider == "tally":
		return &p.keys[position-1]
	default:
		return new(strconv.Itoa(position))
	}
}

// label shows a whole ballot in words: its choice, those it approves or ranks in its
// own order, or its weights in percent, to one decimal place; an invalid one as upstream has it.
func (p *poll) label(b cast) string {
	if p.invalid(b) {
		return strings.ReplaceAll(string(b.choice), " ", "")
	}
	var position int
	var positions []int
	var weights map[int]json.Number
	var parts []string
	switch {
	case json.Unmarshal(b.choice, &position) == nil:
		parts = append(parts, p.choiceLabel(position))
	case json.Unmarshal(b.choice, &positions) == nil:
		for i, position := range positions {
			if !slices.Contains(positions[:i], position) {
				parts = append(parts, p.choiceLabel(position))
			}
		}
	case json.Unmarshal(b.choice, &weights) == nil:
		sum := new(big.Rat)
		for _, weight := range weights {
			sum.Add(sum, exact(weight.String()))
		}
		for _, position := range slices.Sorted(maps.Keys(weights)) {
			if weight := exact(weights[position].String()); weight.Sign() > 0 {
				percent := weight.Mul(weight, big.NewRat(100, 1)).Quo(weight, sum).FloatString(1)
				parts = append(parts, strings.TrimSuffix(percent, ".0")+"% for "+p.choiceLabel(position))
			}
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "None")
}

// positions are those that a ballot names, in its own order.
func (b cast) positions() (named []int) {
	var position int
	var weights map[int]json.Number
	switch {
	case json.Unmarshal(b.choice, &position) == nil:
		return []int{position}
	case json.Unmarshal(b.choice, &named) == nil:
		return named
	case json.Unmarshal(b.choice, &weights) == nil:
		maps.DeleteFunc(weights, func(_ int, weight json.Number) bool { return exact(weight.String()).Sign() == 0 })
		return slices.Sorted(maps.Keys(weights))
	}
	return nil
}

// invalid reports whether a ballot is malformed, or ranks a part only where upstream did not count
// such ballots, as it never does by Copeland's rule.
func (p *poll) invalid(b cast) bool {
	partial := p.kind == "copeland" || p.kind == "ranked-choice" && p.wantsAll()
	return p.malformed(b) || partial && !p.ranksAll(b) && len(b.positions()) > 0
}

func (p *poll) ranksAll(b cast) bool { return len(b.positions()) == len(p.keys) }

// wantsAll reports whether upstream's scores are not those with rankings of a part, which count where
// it states no scores.
func (p *poll) wantsAll() bool {
	p.once.Do(func() {
		if _, scores := p.statement(); scores != nil {
			complete := func(b cast) bool { return p.malformed(b) || !p.ranksAll(b) }
			p.whole = p.comesTo(scores, complete) || !p.comesTo(scores, p.malformed)
		}
	})
	return p.whole
}

// comesTo reports whether the run-off without some ballots has some scores.
func (p *poll) comesTo(scores []*big.Rat, without func(cast) bool) bool {
	shares, err := runOff(slices.DeleteFunc(slices.Clone(p.ballots), without))
	for i, score := range scores {
		sum := new(big.Int)
		for _, share := range shares {
			if part, supported := share[i+1]; supported {
				sum.Add(sum, part)
			}
		}
		if err != nil || apart(score, ratio(sum)) {
			return false
		}
	}
	return true
}

// malformed reports whether a ballot names a choice that does not exist, or one twice, or is in the form
// of another vote type.
func (p *poll) malformed(b cast) bool {
	named := slices.Sorted(slices.Values(b.positions()))
	form := map[string]string{
		"single-choice": "", "basic": "", "approval": "[", "ranked-choice": "[", "copeland": "[", "weighted": "{", "quadratic": "{",
	}
	begins, known := form[p.kind]
	begun := strings.TrimRight(string(b.choice)[:1], `-0123456789"`)
	return len(slices.Compact(slices.Clone(named))) < len(named) || known && begun != begins ||
		p.keys != nil && slices.ContainsFunc(named, func(position int) bool { return position < 1 || position > len(p.keys) })
}

// shownReason is a voter's reason, cut at 1,000 characters with an ellipsis; nil for none.
func (b cast) shownReason() *string {
	characters := []rune(b.reason)
	switch {
	case len(characters) == 0:
		return nil
	case len(characters) > 1000:
		return new(string(characters[:999]) + "…")
	}
	return &b.reason
}

// choiceLabel is the label at a position, from 1.
func (p *poll) choiceLabel(position int) string {
	switch {
	case position >= 1 && position <= len(p.labels):
		return p.labels[position-1]
	case p.keys == nil && p.kind == "basic" && position >= 1 && position <= 3:
		return []string{"For", "Against", "Abstain"}[position-1]
	}
	return "Choice " + strconv.Itoa(position)
}

// object is an expected answer or a part of one.
type object = map[string]any

// expected holds the expected answers.
type expected struct {
	polls   map[string]*poll // by proposalKey
	results map[string]count
	daos    []object          // the list
	answers map[string]object // by path: DAOs, proposals, vote summaries
	records map[string]int    // Read by an import
	recasts int
	waiting int      // ballots of no known proposal
	unknown []string // keys of proposals that only ballots refer to
}

// recountOf computes the expected answers from a folder of upstream's files.
func recountOf(dir string, now time.Time, lacking map[string]bool) (*expected, error) {
	up, err := readUpstream(dir)
	if err != nil {
		return nil, err
	}
	polls, waiting, err := pollsOf(up)
	if err != nil {
		return nil, err
	}
	want := &expected{
		polls: polls, results: map[string]count{}, answers: map[string]object{},
		unknown: slices.Sorted(maps.Keys(waiting)),
		records: map[string]int{
			"daos": len(up.daos), "proposals": len(polls),
			"ballots": len(up.snapshotBallots) + len(up.tallyBallots), "topics": 0,
		},
	}
	for _, ballots := range waiting {
		want.waiting += ballots
	}
	byDAO := map[string][]*poll{}
	for key, p := range polls {
		p.lacks = lacking[p.externalID]
		want.recasts += len(p.casts) - len(p.ballots)
		result, err := p.result()
		if err != nil {
			return nil, err
		}
		path := "/v2/proposals/" + key
		want.results[key] = result
		if !p.spam {
			byDAO[p.daoID] = append(byDAO[p.daoID], p)
		}
		want.answers[path], want.answers[path+"/votes/summary"] = p.detail(now, result), p.summary(now, result)
	}
	for _, dao := range slices.SortedFunc(slices.Values(up.daos), func(a, b upstreamDAO) int { return cmp.Compare(a.DAOID, b.DAOID) }) {
		var topics []discourseTopic
		for _, source := range dao.Sources {
			if source.Provider == "discourse" {
				topics = append(topics, up.topics[source.ID]...)
			}
		}
		item, detail := daoAnswers(dao, byDAO[dao.DAOID], topics, want, now)
		sources := []object{}
		for _, source := range dao.Sources {
			sources = append(sources, object{
				"provider": source.Provider, "id": source.ID, "mode": "imported", "lastSuccessAt": nil,
				"newestRecordAt": stamp(up.newest(source, now)),
			})
		}
		detail["sources"] = sources
		want.daos, want.answers["/v2/daos/"+dao.DAOID] = append(want.daos, item), detail
		want.records["topics"] += len(topics)
	}
	return want, nil
}

// detail is the answer about a proposal.
func (p *poll) detail(now time.Time, result count) object {
	choices := []object{}
	keys, labels := p.named(result)
	for i, key := range keys {
		choices = append(choices, object{"key": key, "label": labels[i]})
	}
	path := "/v2/proposals/" + p.key()
	answer := object{
		"proposalKey": p.key(),
		"identity":    object{"daoId": p.daoID, "provider": p.provider, "externalId": p.externalID},
		"title":       p.title, "bodyText": p.body, "proposerId": p.proposer,
		"sourceUrl": p.link, "discussionUrl": p.discussion,
		"lifecycleStatus": p.lifecycle(now), "outcome": p.outcome(now, result),
		"choices": choices, "quorumRaw": p.quorum, "startAt": stamp(p.start), "endAt": stamp(p.end),
		"createdAt": stamp(cmp.Or(p.created, p.start)), "updatedAt": stamp(p.changed(now)), "voteType": nil,
		"related": object{"voteSummary": path + "/votes/summary", "votes": path + "/votes", "evidence": path + "/evidence"},
	}
	if p.kind != "" {
		answer["voteType"] = p.kind
	}
	if p.spam {
		answer["flagged"] = true
	}
	return answer
}

// changed is when a proposal last changed: as upstream states it, else the latest of its times
// that are over.
func (p *poll) changed(now time.Time) (at *time.Time) {
	if p.updated != nil {
		return p.updated
	}
	at = p.created
	for _, over := range []*time.Time{p.start, p.end} {
		if over != nil && !over.After(now) {
			at = later(at, over)
		}
	}
	return at
}

// summary is the answer about its votes.
func (p *poll) summary(now time.Time, result count) object {
	answer := object{
		"proposal": object{"proposalKey": p.key(), "title": p.title, "outcome": p.outcome(now, result)},
		"totals":   nil, "quorum": nil, "choices": []object{}, "coverageStatus": p.coverage(result), "basis": nil, "result": nil,
		"held": object{"votes": strconv.Itoa(result.votes), "votingPower": decimalText(result.power, places)},
	}
	basis := p.basis(now, result)
	if basis == "" {
		return answer
	}
	var votes *string
	if basis == "ballots" {
		votes = new(strconv.Itoa(result.votes))
	} else if p.stated != nil {
		votes = new(strconv.Itoa(*p.stated))
	}
	choices := []object{}
	keys, labels := p.named(result)
	scores, counted := p.totals(now, result)
	for i, score := range scores {
		choice := object{"key": keys[i], "label": labels[i], "votes": nil, "votingPower": ratioText(score)}
		if basis == "ballots" {
			choice["votes"] = strconv.Itoa(result.lines[i].votes)
		}
		choices = append(choices, choice)
	}
	power := ratio(result.power)
	if basis == "upstream" {
		power, _ = p.statement()
	}
	answer["basis"], answer["choices"] = basis, choices
	answer["totals"] = object{"votes": votes, "uniqueVoters": votes, "votingPower": ratioText(power)}
	if p.hasQuorum() {
		quorum := p.quorumValue()
		said := object{"raw": p.quorum, "progress": progress(counted, quorum), "reached": nil, "type": "approval"}
		if met := counted.Cmp(quorum) >= 0; met || basis == "upstream" || !p.partial() {
			said["reached"] = met
		}
		answer["quorum"] = said
	}
	if p.lifecycle(now) == "closed" && p.decides(now, result) && p.outcome(now, result) != "canceled" {
		answer["result"] = won(keys, labels, scores, power)
	}
	return answer
}

// coverage compares the ballots with what upstream states.
func (p *poll) coverage(result count) string {
	missing := p.partial()
	if total, _ := p.statement(); p.stated == nil && total != nil {
		missing = missing || total.Cmp(ratio(result.power)) > 0 && apart(total, ratio(result.power))
	}
	switch {
	case result.votes == 0 && (missing || p.stated == nil):
		return "unavailable"
	case missing:
		return "partial"
	}
	return "complete"
}

// won is the choice with the most power; nil for none.
func won(keys, labels []string, scores []*big.Rat, power *big.Rat) any {
	first, second := -1, new(big.Rat)
	for i, score := range scores {
		if first < 0 || score.Cmp(scores[first]) > 0 {
			if first >= 0 {
				second = scores[first]
			}
			first = i
		} else if score.Cmp(second) > 0 {
			second = score
		}
	}
	if first < 0 || scores[first].Sign() == 0 {
		return nil
	}
	margin := new(big.Rat).Sub(scores[first], second)
	whole := power
	if scores[first].Cmp(whole) > 0 {
		whole = scores[first]
	}
	part := new(big.Rat).Quo(new(big.Rat).Mul(margin, big.NewRat(10_000, 1)), whole)
	said := object{
		"choiceKey": &keys[first], "label": &labels[first], "marginPower": ratioText(margin), "tie": margin.Sign() == 0,
		"marginPercent": decimalText(new(big.Int).Quo(part.Num(), part.Denom()), 2),
	}
	if margin.Sign() == 0 {
		said["choiceKey"], said["label"] = nil, nil
	}
	return said
}

// ratioText writes an amount with the places of voting power.
func ratioText(amount *big.Rat) string {
	atoms := new(big.Rat).Mul(amount, new(big.Rat).SetInt(tenTo(places)))
	atoms.Add(atoms, big.NewRat(1, 2))
	return decimalText(new(big.Int).Quo(atoms.Num(), atoms.Denom()), places)
}

// daoAnswers is a DAO in the list and by itself.
func daoAnswers(dao upstreamDAO, polls []*poll, topics []discourseTopic, want *expected, now time.Time) (item, detail object) {
	counts, outcomes := object{"total": len(polls)}, object{}
	for _, state := range []string{"active", "pending", "closed"} {
		counts[state] = tally(polls, func(p *poll) bool { return p.lifecycle(now) == state })
	}
	for _, outcome := range []string{"passed", "failed", "executed", "canceled", "unknown"} {
		outcomes[outcome] = tally(polls, func(p *poll) bool { return p.outcome(now, want.results[p.key()]) == outcome })
	}
	var proposed, voted, posted *time.Time
	voters, votes, total := map[string]bool{}, 0, new(big.Int)
	for _, p := range polls {
		proposed = later(proposed, cmp.Or(p.created, p.start))
		for _, b := range p.ballots {
			voted = later(voted, b.at)
			voters[b.voter] = true
			votes++
			total.Add(total, b.power)
		}
	}
	topics = slices.DeleteFunc(slices.Clone(topics), func(t discourseTopic) bool { return !t.Visible })
	for _, topic := range topics {
		posted = later(posted, cmp.Or(topic.LastPostedAt, topic.CreatedAt))
	}
	sources := map[string]bool{}
	for _, source := range dao.Sources {
		sources[source.Provider] = true
	}
	coverage := voteCoverage(polls)
	item = object{
		"daoId": dao.DAOID, "name": dao.Name, "hasVoteData": votes > 0, "hasForumData": len(topics) > 0,
		"coverageStatus": "complete", "voteCoverageStatus": coverage,
		"proposalCounts": object{"total": counts["total"], "active": counts["active"]},
		"latestActivity": object{"proposalAt": stamp(proposed), "voteAt": stamp(voted), "forumAt": stamp(posted)},
	}
	return item, object{
		"daoId": dao.DAOID, "name": dao.Name, "coverageStatus": "complete", "voteCoverageStatus": coverage,
		"proposalCounts": counts, "outcomes": outcomes,
		"participation": object{
			"uniqueVoters": strconv.Itoa(len(voters)), "totalVotes": strconv.Itoa(votes),
			"totalVotingPower": decimalText(total, places),
		},
		"sourceTypes": slices.Sorted(maps.Keys(sources)),
	}
}

func tally(polls []*poll, has func(*poll) bool) (n int) {
	for _, p := range polls {
		if has(p) {
			n++
		}
	}
	return n
}

// voteCoverage is ready if all ballots of all proposals are stored, unavailable if those
// of no proposal are, and otherwise partial.
func voteCoverage(polls []*poll) string {
	switch {
	case tally(polls, func(p *poll) bool { return p.isCovered("complete") }) == len(polls):
		return "ready"
	case tally(polls, func(p *poll) bool { return p.isCovered("unavailable") }) == len(polls):
		return "unavailable"
	default:
		return "partial"
	}
}

// isCovered reports whether the ballots that are held are as many as a coverage says.
func (p *poll) isCovered(as string) bool {
	held := count{votes: len(p.ballots), power: new(big.Int)}
	for _, b := range p.ballots {
		held.power.Add(held.power, b.power)
	}
	return p.coverage(held) == as
}

func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// stamp formats a time as the contract specifies.
func stamp(at *time.Time) *string {
	if at == nil {
		return nil
	}
	return new(at.UTC().Format(env.TimeLayout))
}
