package recount_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

// TestLongGeneratedDossiersEqualARecount compares every number of every dossier with a recount.
func TestLongGeneratedDossiersEqualARecount(t *testing.T) {
	t.Parallel()
	dir := env.DataSet(t, 2_000)
	d := dossiersOf(t, dir)
	d.Pnyx = startShared(t)
	d.Import(dir)
	d.AwaitPublished()
	d.check(t, d.keys)
}

// TestDossiersOfRealDataEqualARecount does so with some proposals of the DAOs with the most ballots.
func TestDossiersOfRealDataEqualARecount(t *testing.T) {
	dir := realData(t)
	d := dossiersOf(t, dir)
	d.Pnyx = startEmpty(t)
	d.Import(dir)
	d.AwaitPublished()
	ballots := map[string]int{}
	for _, p := range d.want.polls {
		ballots[p.daoID] += len(p.ballots)
	}
	busiest := slices.SortedFunc(maps.Keys(ballots), func(a, b string) int { return cmp.Or(ballots[b]-ballots[a], cmp.Compare(a, b)) })
	var sample []string
	for _, dao := range busiest[:min(3, len(busiest))] {
		keys := slices.Sorted(maps.Keys(d.byDAO[dao]))
		sample = append(sample, keys[:min(20, len(keys))]...)
	}
	d.check(t, sample)
}

// dossiers is a running service with what a recount of its dossiers needs.
type dossiers struct {
	recount

	now time.Time
	// keys are those of the polls without spam.
	keys []string
	// byDAO are the polls of each DAO that lists name, by key.
	byDAO map[string]map[string]*poll
	// topics are those of each proposal.
	topics map[string][]*forumTopic
	// onChain holds the calls of each proposal, and when what happened to it.
	onChain map[string]onChainCalls
}

// onChainCalls are the calls and events of an on-chain proposal, as its source states them.
type onChainCalls struct {
	ID    string           `json:"id"`
	Calls []executableCall `json:"executableCalls"`

	Events []struct {
		Type  string    `json:"type"`
		Block tallyTime `json:"block"`
	} `json:"events"`
	Plugins struct {
		SafeSnap struct {
			Safes []struct {
				Network string
				Batches [][]struct{ To, Value, Data string } `json:"txs"`
			}
		}
	}
}

type executableCall struct{ Target, Value, Calldata, ChainID string }

// dossiersOf reads a data set.
func dossiersOf(t *testing.T, dir string) *dossiers {
	t.Helper()
	up := env.Must(readUpstream(dir))(t)
	up.claimSources()
	polls, _, err := pollsOf(up)
	if err != nil {
		t.Fatal(err)
	}
	topics := env.Must(readForumTopics(dir))(t)
	d := &dossiers{
		recount: recount{want: &expected{polls: polls, results: map[string]count{}}, right: map[string]answer{}},
		now:     time.Now(), byDAO: map[string]map[string]*poll{}, topics: map[string][]*forumTopic{}, onChain: map[string]onChainCalls{},
	}
	for key, p := range polls {
		result, err := p.result()
		if err != nil { // no rule says what such ballots give to each choice
			result = count{lines: make([]line, len(p.keys)), votes: len(p.ballots), power: new(big.Int)}
			for _, b := range p.ballots {
				result.power.Add(result.power, b.power)
			}
			for i := range result.lines {
				result.lines[i].power = new(big.Int)
			}
		}
		if d.want.results[key] = result; p.spam {
			continue
		}
		d.keys = append(d.keys, key)
		if d.byDAO[p.daoID] == nil {
			d.byDAO[p.daoID] = map[string]*poll{}
		}
		d.byDAO[p.daoID][key] = p
	}
	for _, topic := range topics {
		for _, related := range topic.related {
			key, _ := related.(map[string]any)["proposalKey"].(string)
			if topic.Visible {
				d.topics[key] = append(d.topics[key], topic)
			}
		}
	}
	calls := env.Must(readLines[onChainCalls](dir, "*", "proposals.ndjson.gz"))(t)
	for _, of := range calls {
		d.onChain[of.ID] = of
	}
	return d
}

// claimSources adds a DAO for each source that none claims, by the name of the source: generated data has such.
func (up *upstream) claimSources() {
	claimed := map[upstreamSource]bool{}
	for _, dao := range up.daos {
		for _, source := range dao.Sources {
			claimed[source] = true
		}
	}
	claim := func(source upstreamSource) {
		if !claimed[source] {
			claimed[source] = true
			up.daos = append(up.daos, upstreamDAO{source.ID, source.ID, []upstreamSource{source}})
		}
	}
	for _, p := range up.snapshotProposals {
		claim(upstreamSource{"snapshot", p.Space.ID})
	}
	for _, p := range up.tallyProposals {
		claim(upstreamSource{"tally", p.Organization.Slug})
	}
}

// check compares the dossiers of some proposals. It asks again for those that are being computed.
func (d *dossiers) check(t *testing.T, keys []string) {
	t.Helper()
	due, wrong := map[string]string{}, map[string]string{}
	for _, key := range keys {
		due["/v2/proposals/"+key+"/evidence"] = key
	}
	env.Until(t, func() error {
		pending := d.compare(slices.Sorted(maps.Keys(due)), func(path string, got answer) string {
			var said struct {
				Intelligence struct {
					Status  string
					Dossier saidDossier
				}
			}
			if err := json.Unmarshal(got.data, &said); err != nil || said.Intelligence.Status != "available" {
				return fmt.Sprintf("status %q (%v)", said.Intelligence.Status, err)
			}
			difference := d.dossierDiffers(due[path], said.Intelligence.Dossier)
			d.mu.Lock()
			defer d.mu.Unlock()
			if wrong[path] = difference; difference == "" {
				delete(wrong, path)
			}
			return ""
		})
		maps.DeleteFunc(due, func(path string, _ string) bool { return pending[path] == "" })
		if len(due) > 0 {
			return fmt.Errorf("%d dossiers are missing: %v", len(due), pending)
		}
		return nil
	})
	t.Logf("%d of %d dossiers are exact", len(keys)-len(wrong), len(keys))
	reportWrong(t, wrong)
}

// saidDossier is a dossier as the service answers it.
type saidDossier struct {
	Participation any    `json:"participation"`
	Concentration any    `json:"concentration"`
	Proposer      any    `json:"proposer"`
	Voters        any    `json:"voters"`
	Decision      object `json:"decision"`
	Course        any    `json:"course"`
	Process       object `json:"process"`
	Effects       struct{ Transfers any }
	Addresses     []struct {
		Address   string `json:"address"`
		Proposals string `json:"proposals"`
		Ballots   string `json:"ballots"`
	} `json:"addresses"`
	Findings      []struct{ Severity string }
	FindingCounts map[string]int `json:"findingCounts"`
}

// sameActions returns the keys of the similar proposals that have the same actions.
func (s *saidDossier) sameActions() []any {
	keys := []any{}
	rows, _ := s.Process["similar"].([]any)
	for _, row := range rows {
		if of, is := row.(map[string]any); is && of["sameActions"] == true {
			keys = append(keys, of["proposalKey"])
		}
	}
	return keys
}

// dossierDiffers compares a dossier, part by part.
func (d *dossiers) dossierDiffers(key string, got saidDossier) string {
	p := d.want.polls[key]
	got.Process["similar"] = got.sameActions()
	for _, name := range []string{"executableAt", "expiresAt", "actionsChangedAt"} { // of chains that are followed
		delete(got.Process, name)
	}
	decision := d.decision(key)
	if _, err := p.result(); err != nil { // no rule says what such ballots give to each choice
		for _, name := range []string{"leader", "runnerUp", "marginPower", "marginPercent"} {
			delete(decision, name)
			delete(got.Decision, name)
		}
	}
	want := object{
		"participation": d.participation(key), "concentration": p.concentration(p.basis(d.now, d.want.results[key]) == "upstream"), "course": d.course(key), "decision": decision,
		"voters": object{"strongest": d.strongest(key), "largest": d.largest(key)}, "proposer": d.proposer(key), "process": d.process(key),
	}
	said := object{
		"participation": got.Participation, "concentration": got.Concentration, "course": got.Course, "decision": got.Decision,
		"voters": got.Voters, "proposer": got.Proposer, "process": got.Process, "addresses": got.Addresses, "findingCounts": got.FindingCounts,
	}
	if sums, known := d.transfers(p); known {
		want["transfers"], said["transfers"] = sums, got.Effects.Transfers
	}
	known := []object{}
	for _, of := range got.Addresses {
		known = append(known, d.knownOf(p, of.Address))
	}
	severities := map[string]int{"critical": 0, "high": 0, "unknown": 0, "medium": 0, "low": 0, "info": 0}
	for _, f := range got.Findings {
		severities[f.Severity]++
	}
	want["addresses"], want["findingCounts"] = known, severities
	return env.DiffJSON(want, said)
}

// percentOf returns a share in percent with four places, half to even; nil of nothing.
func percentOf(part, whole *big.Rat) *string {
	if whole == nil || whole.Sign() <= 0 {
		return nil
	}
	return new(halfEven(new(big.Rat).Quo(new(big.Rat).Mul(part, big.NewRat(100, 1)), whole)))
}

// halfEven writes a number with at most four places.
func halfEven(value *big.Rat) string {
	scaled := new(big.Rat).Mul(new(big.Rat).Abs(value), big.NewRat(10_000, 1))
	whole, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	if order := rest.Lsh(rest, 1).Cmp(scaled.Denom()); order > 0 || order == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	sign := ""
	if value.Sign() < 0 && whole.Sign() > 0 {
		sign = "-"
	}
	return sign + decimalText(whole, 4)
}

// medianOf returns the median of numbers with at most four places; nil of none.
func medianOf(numbers []*big.Rat) *string {
	slices.SortFunc(numbers, (*big.Rat).Cmp)
	n := len(numbers)
	if n == 0 {
		return nil
	}
	sum := new(big.Rat).Add(numbers[(n-1)/2], numbers[n/2])
	return new(halfEven(sum.Quo(sum, big.NewRat(2, 1))))
}

func countText(n int) *string { return new(strconv.Itoa(n)) }

// all returns the power of all votes and their number, as the summary has them; nil while unknown.
func (d *dossiers) all(key string) (power *big.Rat, votes *int) {
	p, result := d.want.polls[key], d.want.results[key]
	switch p.basis(d.now, result) {
	case "ballots":
		return ratio(result.power), &result.votes
	case "upstream":
		power, _ = p.statement()
		return power, p.stated
	}
	return nil, nil
}

// everyBallot reports whether all ballots are stored, as far as is known.
func (p *poll) everyBallot() bool { return len(p.ballots) > 0 && !p.isCovered("partial") }

// lacksBallots reports whether ballots may be missing.
func (p *poll) lacksBallots() bool { return p.isCovered("partial") || p.isCovered("unavailable") }

// isLowerBound reports whether the totals are sums of ballots of which some may be missing.
func (d *dossiers) isLowerBound(key string) bool {
	p := d.want.polls[key]
	return p.lacksBallots() && p.basis(d.now, d.want.results[key]) == "ballots"
}

// dated reports whether the time of every ballot is known, and not only the day.
func (p *poll) dated() bool {
	return len(p.ballots) > 0 && !slices.ContainsFunc(p.ballots, func(b cast) bool { return b.at == nil || b.dayOnly })
}

// inTime returns the ballots in order of time, those without one first, then of voter.
func (p *poll) inTime() []cast {
	return slices.SortedStableFunc(slices.Values(p.ballots), func(a, b cast) int {
		if a.at == nil || b.at == nil {
			return cmp.Compare(len(text(stamp(a.at))), len(text(stamp(b.at))))
		}
		return a.at.Compare(*b.at)
	})
}

// strongestFirst returns the ballots in order of power.
func (p *poll) strongestFirst() []cast {
	return slices.SortedStableFunc(slices.Values(p.ballots), func(a, b cast) int { return b.power.Cmp(a.power) })
}

// adds reports whether scores are sums of what ballots give.
func (p *poll) adds() bool {
	return !slices.Contains([]string{"ranked-choice", "quadratic", "copeland"}, p.kind)
}

// dossierBallot is a ballot as dossiers have it.
func (d *dossiers) dossierBallot(key string, b cast) object {
	p := d.want.polls[key]
	keys := []string{}
	if !p.malformed(b) && !p.invalid(b) {
		var weights map[int]json.Number
		_ = json.Unmarshal(b.choice, &weights)
		for _, position := range b.positions() {
			if weight, has := weights[position]; !has || exact(weight.String()).Sign() > 0 {
				keys = append(keys, p.keyAt(position))
			}
		}
	}
	power, _ := d.all(key)
	share := percentOf(ratio(b.power), power)
	if len(keys) == 0 && p.basis(d.now, d.want.results[key]) == "upstream" {
		share = nil // upstream may leave the ballot out of its total
	}
	return object{
		"voterIdentity": b.voter, "choiceKeys": keys, "votingPower": decimalText(b.power, places), "sharePercent": share, "votedAt": stamp(b.at),
	}
}

// keyAt is the key of a choice at a position, from 1.
func (p *poll) keyAt(position int) string {
	if p.provider == "tally" {
		return governorChoices()[position-1]
	}
	return strconv.Itoa(position)
}

// decision recounts how a vote was decided.
func (d *dossiers) decision(key string) object {
	p, result := d.want.polls[key], d.want.results[key]
	want := object{
		"voteType": nil, "quorumChoices": nil, "lifecycleStatus": p.lifecycle(d.now), "outcome": p.outcome(d.now, result),
		"leader": nil, "runnerUp": nil, "marginPower": nil, "marginPercent": nil, "quorum": nil, "decidedAt": nil, "decidingVoters": nil,
	}
	if p.kind != "" {
		want["voteType"] = p.kind
	}
	if p.provider == "tally" {
		want["quorumChoices"] = []string{"for", "abstain"}
	}
	basis := p.basis(d.now, result)
	if basis == "" {
		return want
	}
	keys, labels := p.named(result)
	scores, counted := p.totals(d.now, result)
	power, _ := d.all(key)
	if p.hasQuorum() {
		quorum := object{"type": "approval", "needed": ratioText(p.quorumValue()), "counted": ratioText(counted), "reached": nil, "metBy": nil}
		if met := counted.Cmp(p.quorumValue()) >= 0; met || basis == "upstream" || !p.partial() {
			quorum["reached"] = met
		}
		if basis == "ballots" && p.dated() && p.everyBallot() {
			if b := p.quorumMetBy(); b != nil {
				quorum["metBy"] = d.dossierBallot(key, *b)
			}
		}
		want["quorum"] = quorum
	}
	first, second := d.leading(key, false)
	if first < 0 && second < 0 {
		return want
	}
	margin := new(big.Rat)
	if first >= 0 {
		margin.Sub(scores[first], scores[second])
		if scores[first].Cmp(power) > 0 {
			power = scores[first]
		}
	}
	want["marginPower"], want["marginPercent"] = ratioText(margin), percentOf(margin, power)
	if first < 0 {
		return want
	}
	choice := func(i int) object {
		return object{"key": keys[i], "label": labels[i], "votingPower": ratioText(scores[i])}
	}
	want["leader"], want["runnerUp"] = choice(first), choice(second)
	undecided := p.lifecycle(d.now) == "closed" && (!p.decides(d.now, result) || p.outcome(d.now, result) == "canceled" ||
		p.provider == "tally" && p.status != "" && !p.settled())
	if basis != "ballots" || !p.everyBallot() || undecided {
		return want
	}
	// Abstentions decide nothing.
	moved, movers := new(big.Rat), 0
	if first, second = d.leading(key, true); first >= 0 {
		margin = new(big.Rat).Sub(scores[first], scores[second])
	}
	tieFails := first >= 0 && p.side(first) == "for" && p.side(second) == "against"
	losesQuorum := p.hasQuorum() && p.provider == "tally" && first >= 0 && keys[first] == "for"
	for _, b := range p.strongestFirst() {
		if first < 0 || p.kind == "approval" || p.kind == "weighted" || !p.adds() || !d.leadDecides(key, first) {
			break
		}
		if k := p.choiceKey(b); k == nil || *k != keys[first] {
			continue
		}
		movers++
		moved.Add(moved, ratio(b.power))
		order := new(big.Rat).Add(moved, moved).Cmp(margin)
		if order > 0 || order == 0 && tieFails || losesQuorum && new(big.Rat).Sub(counted, moved).Cmp(p.quorumValue()) < 0 {
			want["decidingVoters"] = countText(movers)
			break
		}
	}
	if p.dated() && p.adds() {
		leader, ballots := 0, p.inTime()
		for i, now := range p.race(ballots)[1:] {
			if i == 0 || now.leader != leader {
				leader, want["decidedAt"] = now.leader, stamp(ballots[i].at)
			}
		}
	}
	return want
}

// leadDecides reports whether a lead wins: with the quorum, and unless the outcome says that more was needed.
func (d *dossiers) leadDecides(key string, first int) bool {
	p, result := d.want.polls[key], d.want.results[key]
	_, counted := p.totals(d.now, result)
	if p.hasQuorum() && counted.Cmp(p.quorumValue()) < 0 {
		return false
	}
	switch p.outcome(d.now, result) {
	case "failed":
		return p.side(first) != "for"
	case "passed", "executed":
		return p.side(first) != "against"
	case "canceled":
		return false
	}
	return true
}

// side says what a choice, counted from 0, stands for.
func (p *poll) side(at int) string {
	inFavour, against := p.sides()
	switch {
	case at == inFavour:
		return "for"
	case at == against:
		return "against"
	case p.kind == "basic":
		return "abstain"
	case at < len(p.labels):
		return strings.Replace(side(p.labels[at]), "undone", "against", 1)
	}
	return "other"
}

// leading returns the choices with the most power, of those that can win or of all: -1 for a tied first.
func (d *dossiers) leading(key string, winning bool) (first, second int) {
	p := d.want.polls[key]
	scores, _ := p.totals(d.now, d.want.results[key])
	order := []int{}
	for i := range scores {
		if !winning || p.side(i) != "abstain" {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return scores[b].Cmp(scores[a]) })
	switch {
	case len(order) < 2 || scores[order[0]].Sign() == 0:
		return -1, -1
	case scores[order[0]].Cmp(scores[order[1]]) == 0:
		return -1, order[1]
	}
	return order[0], order[1]
}

// standing is the power of each choice after some ballots, by position, and the one that leads; 0 in a tie.
type standing struct {
	leader int
	powers map[int]power
}

// race returns the standing after each ballot, in order of time, and before the first.
func (p *poll) race(ballots []cast) []standing {
	all := []standing{{0, map[int]power{}}}
	for i, b := range ballots {
		now := standing{0, maps.Clone(all[i].powers)}
		share, _ := p.share(b) // it was counted before
		for position, part := range share {
			now.powers[position] = new(big.Int).Add(now.power(position), part)
		}
		most := new(big.Int)
		for position, sum := range now.powers {
			switch order := sum.Cmp(most); {
			case order > 0:
				now.leader, most = position, sum
			case order == 0:
				now.leader = 0
			}
		}
		all = append(all, now)
	}
	return all
}

func (s standing) power(position int) power { return cmp.Or(s.powers[position], new(big.Int)) }

// quorumMetBy returns the ballot with which the quorum was met; nil for none.
func (p *poll) quorumMetBy() *cast {
	sum := new(big.Rat)
	for _, b := range p.inTime() {
		if k := p.choiceKey(b); p.provider == "tally" && (k == nil || *k == "against") {
			continue
		}
		if sum.Add(sum, ratio(b.power)); sum.Cmp(p.quorumValue()) >= 0 {
			return &b
		}
	}
	return nil
}

// concentration recounts how power was distributed.
func (p *poll) concentration(leavesOut bool) any {
	ballots, total := p.strongestFirst(), new(big.Rat)
	for _, b := range ballots {
		total.Add(total, ratio(b.power))
	}
	if total.Sign() == 0 || !p.everyBallot() || leavesOut && slices.ContainsFunc(ballots, p.invalid) {
		return nil
	}
	top := func(n int) *string {
		sum := new(big.Rat)
		for _, b := range ballots[:min(n, len(ballots))] {
			sum.Add(sum, ratio(b.power))
		}
		return percentOf(sum, total)
	}
	nakamoto, sum := 0, new(big.Rat)
	for new(big.Rat).Add(sum, sum).Cmp(total) <= 0 {
		sum.Add(sum, ratio(ballots[nakamoto].power))
		nakamoto++
	}
	n := int64(len(ballots))
	gini := new(big.Rat)
	for i, b := range ballots { // the largest first: its place in ascending order is n
		gini.Add(gini, new(big.Rat).Mul(big.NewRat(2*(n-int64(i)), n), ratio(b.power)))
	}
	gini.Quo(gini, total).Sub(gini, big.NewRat(n+1, n))
	return object{
		"largestPercent": top(1), "top5Percent": top(5), "top10Percent": top(10), "nakamoto": countText(nakamoto), "gini": halfEven(gini),
	}
}

// course recounts how a vote went.
func (d *dossiers) course(key string) any {
	p := d.want.polls[key]
	if !p.everyBallot() || !p.dated() || p.start == nil || p.end == nil || !p.end.After(*p.start) || p.dayOnly {
		return nil
	}
	within := func(from, to *time.Time) object {
		votes, power := 0, new(big.Int)
		for _, b := range p.ballots {
			if (from == nil || !b.at.Before(*from)) && (to == nil || b.at.Before(*to)) {
				votes, power = votes+1, power.Add(power, b.power)
			}
		}
		return object{"ballots": countText(votes), "votingPower": decimalText(power, places)}
	}
	edge := func(tenth int64) *time.Time {
		return new(p.start.Add(time.Duration(int64(p.end.Sub(*p.start)) / 10 * tenth)))
	}
	tenths := []object{within(nil, edge(1))}
	for i := int64(1); i < 9; i++ {
		tenths = append(tenths, within(edge(i), edge(i+1)))
	}
	recasts, sides := p.recasts()
	want := object{
		"tenths": append(tenths, within(edge(9), nil)), "lastTenPercent": within(edge(9), nil),
		"firstHour": within(nil, new(p.start.Add(time.Hour))), "lastHour": within(new(p.end.Add(-time.Hour)), nil),
		"recasts": countText(recasts), "sideChanges": countText(sides), "leaderChanges": nil, "lateSwingPower": nil, "lateLeaderChange": nil,
	}
	if !p.adds() {
		return want
	}
	changes, leader, ballots := 0, 0, p.inTime()
	race := p.race(ballots)
	early, last := race[0], race[len(ballots)]
	if first, _ := d.leading(key, false); first >= 0 && last.leader != first+1 {
		return want // upstream states other scores
	}
	for i, now := range race[1:] {
		if now.leader > 0 && now.leader != leader {
			if leader > 0 {
				changes++
			}
			leader = now.leader
		}
		if ballots[i].at.Before(*edge(9)) {
			early = now
		}
	}
	want["leaderChanges"], want["lateLeaderChange"] = changes, false
	if first, second := d.leading(key, false); first >= 0 {
		lead := func(at standing) *big.Int { return new(big.Int).Sub(at.power(first+1), at.power(second+1)) }
		swing := new(big.Int).Sub(lead(last), lead(early))
		want["lateSwingPower"] = strings.Repeat("-", (1-swing.Sign())/2) + decimalText(new(big.Int).Abs(swing), places)
		want["lateLeaderChange"] = early.leader > 0 && early.leader != first+1
	}
	return want
}

// recasts counts the casts that were replaced, and the voters whose replaced casts chose otherwise.
func (p *poll) recasts() (replaced, sides int) {
	ids, chosen := map[string]bool{}, map[string]map[string]bool{}
	for _, c := range p.casts {
		ids[c.id] = true
		if chosen[c.voter] == nil {
			chosen[c.voter] = map[string]bool{}
		}
		chosen[c.voter][fmt.Sprint(env.Plain(c.choice))] = true
	}
	for _, of := range chosen {
		if len(of) > 1 {
			sides++
		}
	}
	return len(ids) - len(p.ballots), sides
}
