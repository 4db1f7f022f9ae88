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
	"time"
	"unicode"
	"unicode/utf8"

	"pnyx/test/env"
)

// poll is a proposal of any provider before its ballots are counted.
type poll struct {
	daoID, provider, externalID             string
	title, body, proposer, link, discussion *string

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
	start   *time.Time
	end     *time.Time

	casts   []cast
	ballots []cast // those that count
}

// cast is one ballot as it was cast; a later one of the same voter replaces it.
type cast struct {
	id, voter string
	at        *time.Time
	choice    json.RawMessage
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

// ready reports whether the votes of a proposal can be counted.
func (p *poll) ready() bool { return len(p.casts) > 0 || p.stated != nil && *p.stated == 0 }

// partial reports whether upstream counted more ballots than are stored.
func (p *poll) partial() bool { return p.stated != nil && *p.stated > len(p.ballots) }

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
		ranked, err := runOff(p.ballots)
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

// share returns the power that a ballot gives to each position it supports.
func (p *poll) share(b cast) (map[int]power, error) {
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
		labels = append(labels, "Choice "+strconv.Itoa(i+1))
	}
	return keys, labels
}

// counted returns the power that counts toward the quorum: that of all ballots, or of
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
		known = p.verdict(result)
	}
	return cmp.Or(known, "unknown")
}

// verdict uses upstream's own scores, or else a complete count of the ballots. It
// compares for with against, and applies the quorum if there is one.
func (p *poll) verdict(result count) string {
	inFavour, against := p.sides()
	if inFavour < 0 || against < 0 {
		return ""
	}
	scores, counted := p.scores, new(big.Rat)
	switch {
	case len(scores) == len(p.keys):
		for _, score := range scores {
			counted.Add(counted, score)
		}
	case p.ready() && !p.partial():
		scores, counted = nil, p.counted(result)
		for _, l := range result.lines {
			scores = append(scores, ratio(l.power))
		}
	default:
		return ""
	}
	met := p.quorum == nil || counted.Cmp(p.quorumValue()) >= 0
	if met && scores[inFavour].Cmp(scores[against]) > 0 {
		return "passed"
	}
	return "failed"
}

// sides returns the one choice for and the one choice against. All other choices must
// be abstentions.
func (p *poll) sides() (inFavour, against int) {
	sides := map[string][]int{}
	for i, label := range p.labels {
		sides[side(label)] = append(sides[side(label)], i)
	}
	if len(sides["for"]) != 1 || len(sides["against"]) != 1 || len(sides["other"]) > 0 {
		return -1, -1
	}
	return sides["for"][0], sides["against"][0]
}

// side classifies a label by its only word or by a separate first word: "No",
// "No, keep it", "NO - do nothing", but not "No Veto".
func side(label string) string {
	label = strings.ToLower(strings.TrimSpace(label))
	for side, words := range map[string][]string{
		"for":     {"for", "yes", "yay", "approve", "accept", "agree", "in favor", "in favour"},
		"against": {"against", "no", "nay", "reject", "deny", "decline", "disapprove", "refuse", "disagree"},
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
	return "other"
}

// choiceKey returns the key of the choice that a ballot supports. Of several it is the
// first, or the one with the largest weight (of equals, the first). There may be none.
func (p *poll) choiceKey(b cast) *string {
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
// own order, or its weights in percent, to one decimal place.
func (p *poll) label(b cast) string {
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

// choiceLabel is the label at a position, from 1.
func (p *poll) choiceLabel(position int) string {
	if position <= len(p.labels) {
		return p.labels[position-1]
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
func recountOf(dir string, now time.Time) (*expected, error) {
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
		want.recasts += len(p.casts) - len(p.ballots)
		result, err := p.result()
		if err != nil {
			return nil, err
		}
		path := "/v2/proposals/" + key
		want.results[key], byDAO[p.daoID] = result, append(byDAO[p.daoID], p)
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
	return object{
		"proposalKey": p.key(),
		"identity":    object{"daoId": p.daoID, "provider": p.provider, "externalId": p.externalID},
		"title":       p.title, "bodyText": p.body, "proposerId": p.proposer,
		"sourceUrl": p.link, "discussionUrl": p.discussion,
		"lifecycleStatus": p.lifecycle(now), "outcome": p.outcome(now, result),
		"choices": choices, "quorumRaw": p.quorum, "startAt": stamp(p.start), "endAt": stamp(p.end),
		"related": object{"voteSummary": path + "/votes/summary", "votes": path + "/votes", "evidence": path + "/evidence"},
	}
}

// summary is the answer about its votes.
func (p *poll) summary(now time.Time, result count) object {
	answer := object{
		"proposal": object{"proposalKey": p.key(), "title": p.title, "outcome": p.outcome(now, result)},
		"totals":   nil, "quorum": nil, "choices": []object{}, "coverageStatus": "unavailable",
	}
	if !p.ready() {
		return answer
	}
	choices := []object{}
	keys, labels := p.named(result)
	for i, l := range result.lines {
		choices = append(choices, object{
			"key": keys[i], "label": labels[i], "votes": strconv.Itoa(l.votes), "votingPower": decimalText(l.power, places),
		})
	}
	votes := strconv.Itoa(result.votes)
	answer["totals"] = object{"votes": votes, "uniqueVoters": votes, "votingPower": decimalText(result.power, places)}
	answer["choices"], answer["coverageStatus"] = choices, "complete"
	if p.partial() {
		answer["coverageStatus"] = "partial"
	}
	if p.quorum != nil {
		counted, quorum := p.counted(result), p.quorumValue()
		answer["quorum"] = object{
			"raw": p.quorum, "progress": progress(counted, quorum), "reached": counted.Cmp(quorum) >= 0,
		}
	}
	return answer
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
	case tally(polls, func(p *poll) bool { return p.ready() && !p.partial() }) == len(polls):
		return "ready"
	case tally(polls, (*poll).ready) == 0:
		return "unavailable"
	default:
		return "partial"
	}
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
