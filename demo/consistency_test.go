package demo_test

import (
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/demo"
	"pnyx/governance"
	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

// TestDataIsConsistent checks the invariants of a data set that is large enough to have
// every defect.
func TestDataIsConsistent(t *testing.T) {
	t.Parallel()
	dir, summary := write(t, demo.Options{Seed: 11, DAOs: 20, Proposals: 500, Ballots: 20_000, Largest: 2_000, Now: now})
	d := read(t, dir)
	for claim, check := range map[string]func(*testing.T, data, demo.Summary){
		"ballots belong to proposals":                          checkBallotsBelongToProposals,
		"stated totals are the sums of the ballots that count": checkStatedTotalsAreTheSumsOfTheBallotsThatCount,
		"stated totals on chain are the sums of the votes":     checkStatedTotalsOnChainAreTheSumsOfTheVotes,
		"recasts and repeats are counted":                      checkRecastsAndRepeatsAreCounted,
		"identifiers have the form of their provider":          checkIdentifiersHaveTheFormOfTheirProvider,
		"times are in order":                                   checkTimesAreInOrder,
		"calls of every kind decode":                           checkCalls,
		"choices exist":                                        checkChoicesExist,
		"forums and proposals link to each other":              checkForumsAndProposalsLinkToEachOther,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			check(t, d, summary)
		})
	}
}

func checkBallotsBelongToProposals(t *testing.T, d data, summary demo.Summary) {
	t.Helper()
	known := map[string]string{}
	for _, p := range d.proposals {
		known[p.ID] = p.Space.ID
	}
	waiting := 0
	for _, vote := range d.votes {
		space, found := known[vote.Proposal.ID]
		if !found {
			waiting++
		} else if space != vote.Space.ID {
			t.Errorf("got space %s for a ballot on a proposal of %s", vote.Space.ID, space)
		}
	}
	if waiting != 5 || summary.Waiting != 5 {
		t.Errorf("got %d ballots without a proposal and %d in the summary, want 5", waiting, summary.Waiting)
	}
	onChain := map[string]bool{}
	for _, p := range d.onChain {
		onChain[p.ID] = true
	}
	for _, vote := range d.onChainVotes {
		if !onChain[vote.Proposal.ID] {
			t.Errorf("got an on-chain vote on the unknown proposal %s", vote.Proposal.ID)
		}
	}
}

// ballot is a ballot with the fields that decide which ballot of a voter counts.
type ballot struct {
	at      int64
	id      string
	power   decimal.Decimal
	choices []int
}

// supersedes reports whether b counts, and not other, if one voter cast both.
func (b ballot) supersedes(other ballot) bool {
	if b.at != other.at {
		return b.at > other.at
	}
	return b.id > other.id
}

// countedBallots returns the ballots that count, by proposal and voter.
func countedBallots(t *testing.T, d data) map[string]map[string]ballot {
	t.Helper()
	counted := map[string]map[string]ballot{}
	for _, vote := range d.votes {
		power, _, err := governance.ParsePower(string(vote.VP))
		if err != nil {
			t.Fatal(err)
		}
		voters := counted[vote.Proposal.ID]
		if voters == nil {
			voters = map[string]ballot{}
			counted[vote.Proposal.ID] = voters
		}
		b := ballot{votedAt(t, vote), vote.ID, power, choicesOf(t, vote.Choice)}
		voter := strings.ToLower(vote.Voter)
		if before, again := voters[voter]; !again || b.supersedes(before) {
			voters[voter] = b
		}
	}
	return counted
}

// votedAt returns the time of a ballot in Unix seconds; 0 if it states none.
func votedAt(t *testing.T, vote snapshotVote) int64 {
	t.Helper()
	if vote.CreatedDay == nil {
		if vote.Created == nil {
			return 0
		}
		return *vote.Created
	}
	at := env.Must(time.Parse(time.DateOnly, *vote.CreatedDay))(t)
	return at.Unix()
}

// choicesOf returns the choices of a ballot of any vote type.
func choicesOf(t *testing.T, choice json.RawMessage) []int {
	t.Helper()
	var one int
	if json.Unmarshal(choice, &one) == nil {
		return []int{one}
	}
	var several []int
	if json.Unmarshal(choice, &several) == nil {
		return several
	}
	var weights map[int]int
	env.Decode(t, choice, &weights)
	return slices.Collect(maps.Keys(weights))
}

func checkStatedTotalsAreTheSumsOfTheBallotsThatCount(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	counted := countedBallots(t, d)
	checked := map[string]int{}
	for _, p := range d.proposals {
		ballots := counted[p.ID]
		if p.Votes == nil || *p.Votes != len(ballots) || len(ballots) == 0 {
			continue
		}
		checked[p.Type]++
		total := decimal.Zero
		scores := make([]decimal.Decimal, len(p.Scores))
		for _, ballot := range ballots {
			total = total.Add(ballot.power)
			if p.Scores == nil || p.Type == "copeland" {
				continue
			}
			for _, choice := range ballot.choices {
				scores[choice-1] = scores[choice-1].Add(ballot.power)
			}
		}
		env.Want(t, total.String(), string(*p.ScoresTotal), "a stated total of", "on", p.ID, total)
		for i := range p.Scores {
			if got := string(p.Scores[i]); p.Type != "copeland" && got != scores[i].String() {
				t.Errorf("got a stated score of %s for choice %d of %s, want %s", got, i+1, p.ID, scores[i])
			}
		}
	}
	for kind, minimum := range map[string]int{"single-choice": 50, "basic": 50, "approval": 5, "weighted": 3, "quadratic": 3, "ranked-choice": 3, "copeland": 1} {
		if checked[kind] < minimum {
			t.Errorf("got %d %s proposals with stated totals, want at least %d", checked[kind], kind, minimum)
		}
	}
}

func checkStatedTotalsOnChainAreTheSumsOfTheVotes(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	sums, voters, seen := map[string]decimal.Decimal{}, map[string]int{}, map[string]bool{}
	for _, vote := range d.onChainVotes {
		if key := vote.Proposal.ID + " " + vote.Type; !seen[vote.line] {
			seen[vote.line] = true
			sums[key] = sums[key].Add(decimal.RequireFromString(vote.Amount))
			voters[key]++
		}
	}
	checked := 0
	for _, p := range d.onChain {
		for _, stated := range p.VoteStats {
			key := p.ID + " " + stated.Type
			if voters[p.ID+" for"] == 0 {
				continue
			}
			checked++
			if stated.VotesCount != sums[key].String() || stated.VotersCount != voters[key] {
				t.Errorf("got %s by %d voters stated for %s, want %s by %d", stated.VotesCount, stated.VotersCount, key, sums[key], voters[key])
			}
		}
		checkStatus(t, p)
	}
	if checked < 100 {
		t.Errorf("got %d totals to check, want at least 100", checked)
	}
}

// checkStatus checks that the status of a proposal agrees with its votes and its last
// event.
func checkStatus(t *testing.T, p tallyProposal) {
	t.Helper()
	if p.VoteStats != nil && p.Quorum != nil {
		votes := make([]decimal.Decimal, len(p.VoteStats))
		for i, stated := range p.VoteStats {
			votes[i] = decimal.RequireFromString(stated.VotesCount)
		}
		passed := votes[0].GreaterThan(votes[1]) && votes[0].Add(votes[2]).GreaterThanOrEqual(decimal.RequireFromString(*p.Quorum))
		if wants, known := statusPasses()[p.Status]; known && passed != wants {
			t.Errorf("got %s with votes %s and a quorum of %s", p.Status, votes, *p.Quorum)
		}
	}
	last := ""
	for _, event := range p.Events {
		last = event.Type
		if event.Block.Timestamp.After(now) {
			t.Errorf("got event %s at %s, want it before %s", event.Type, event.Block.Timestamp, now)
		}
	}
	if slices.Contains([]string{"executed", "canceled", "queued"}, p.Status) && p.Events != nil && last != p.Status {
		t.Errorf("got %s as the last event of a proposal that is %s", last, p.Status)
	}
}

// statusPasses maps final statuses to whether the proposal has a majority and a quorum.
func statusPasses() map[string]bool {
	return map[string]bool{"succeeded": true, "queued": true, "executed": true, "expired": true, "defeated": false}
}

func checkRecastsAndRepeatsAreCounted(t *testing.T, d data, summary demo.Summary) {
	t.Helper()
	found := map[string]int{}
	d.countBallots(found)
	if found["recast"] != summary.Recasts || found["repeat"]+found["on-chain repeat"] != summary.Repeats {
		t.Errorf("got %d recasts and %d repeats, want the %d and %d of the summary",
			found["recast"], found["repeat"]+found["on-chain repeat"], summary.Recasts, summary.Repeats)
	}
	ids := map[string]string{}
	for _, vote := range d.votes {
		if other, taken := ids[vote.ID]; taken && other != vote.line {
			t.Errorf("got id %s for two ballots", vote.ID)
		}
		ids[vote.ID] = vote.line
	}
	onChain := map[string]bool{}
	for _, vote := range d.onChainVotes {
		if key := vote.Proposal.ID + vote.Voter.Address; onChain[key] && ids[vote.ID] != vote.line {
			t.Errorf("got a second vote by %s, want none on chain", vote.Voter.Address)
		} else {
			onChain[key], ids[vote.ID] = true, vote.line
		}
	}
}

func checkIdentifiersHaveTheFormOfTheirProvider(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	match := func(what, text string, pattern *regexp.Regexp) {
		t.Helper()
		if !pattern.MatchString(text) {
			t.Errorf("got %s %q, want it to match %s", what, text, pattern)
		}
	}
	hash, logged := regexp.MustCompile("^0x[0-9a-f]{64}$"), regexp.MustCompile("^0x[0-9a-f]{64}-[0-9]+$")
	account, mixed := regexp.MustCompile("^0x[0-9a-f]{40}$"), regexp.MustCompile("^0x[0-9a-fA-F]{40}$")
	number := regexp.MustCompile("^(0|[1-9][0-9]*)$")
	for _, p := range d.proposals {
		match("proposal id", p.ID, hash)
		match("author", valueOr(p.Author, "0x"+strings.Repeat("0", 40)), mixed)
		env.Want(t, "https://snapshot.org/#/"+p.Space.ID+"/proposal/"+p.ID, p.Link, "link")
	}
	for _, vote := range d.votes[:1_000] {
		match("vote id", vote.ID, hash)
		match("voter", vote.Voter, mixed)
	}
	for _, p := range d.onChain {
		match("proposal id", p.ID, number)
		match("on-chain id", p.OnchainID, number)
	}
	for _, vote := range d.onChainVotes {
		match("on-chain vote id", vote.ID, logged)
		match("transaction", vote.TxHash, hash)
		match("voter", vote.Voter.Address, account)
		match("amount", vote.Amount, number)
	}
}

func checkTimesAreInOrder(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	open := map[string][2]int64{}
	for _, p := range d.proposals {
		if p.Start == nil {
			continue
		}
		open[p.ID] = [2]int64{*p.Start, *p.End}
		if *p.Created > *p.Start || *p.Start >= *p.End || *p.Created > now.Unix() || p.Updated != nil && *p.Updated < *p.Created {
			t.Errorf("got times %d, %d, %d of %s, want them in order", *p.Created, *p.Start, *p.End, p.ID)
		}
		if want := stateAt(*p.Start, *p.End); p.State != nil && *p.State != want {
			t.Errorf("got state %s of a proposal that is %s", *p.State, want)
		}
	}
	for _, vote := range d.votes {
		if times, found := open[vote.Proposal.ID]; found && vote.Created != nil {
			if *vote.Created < times[0] || *vote.Created > min(times[1], now.Unix()) {
				t.Errorf("got a ballot at %d, want it from %d to %d", *vote.Created, times[0], times[1])
			}
		}
	}
	for topic := range flatten(maps.Values(d.topics)) {
		if topic.LastPostedAt.Before(topic.CreatedAt) || topic.LastPostedAt.After(now.Add(time.Second)) {
			t.Errorf("got a topic from %s to %s, want these in order and before %s", topic.CreatedAt, topic.LastPostedAt, now)
		}
	}
}

func stateAt(start, end int64) string {
	switch at := now.Unix(); {
	case at < start:
		return "pending"
	case at < end:
		return "active"
	}
	return "closed"
}

func checkChoicesExist(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	proposals := map[string]snapshotProposal{}
	for _, p := range d.proposals {
		proposals[p.ID] = p
	}
	for _, vote := range d.votes {
		p := proposals[vote.Proposal.ID]
		picks := choicesOf(t, vote.Choice)
		slices.Sort(picks)
		if len(slices.Compact(picks)) != len(picks) {
			t.Errorf("got choice %s, want nothing in it twice", vote.Choice)
		}
		if n := len(picks); n > 0 && p.Choices != nil && (picks[0] < 1 || picks[n-1] > len(p.Choices)) {
			t.Errorf("got choice %s of %d", vote.Choice, len(p.Choices))
		}
		if want := map[string]byte{"approval": '[', "ranked-choice": '[', "copeland": '[', "weighted": '{', "quadratic": '{'}[p.Type]; want != 0 && vote.Choice[0] != want {
			t.Errorf("got choice %s on a proposal of type %s", vote.Choice, p.Type)
		}
	}
}

func checkForumsAndProposalsLinkToEachOther(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	addresses := map[string]bool{}
	for host, topics := range d.topics {
		for _, topic := range topics {
			addresses[host+"/t/"+topic.Slug+"/"+strconv.Itoa(topic.ID)] = true
			checkTopic(t, topic, d.categories[host])
		}
	}
	ends := regexp.MustCompile(`(/1|/|\?u=.*)$`)
	discussed := 0
	for _, url := range d.discussions() {
		address, _ := strings.CutPrefix(url, "https://")
		if !addresses[address] && !addresses[ends.ReplaceAllString(address, "")] {
			t.Errorf("got discussion %s, want the address of a topic", url)
		}
		discussed++
	}
	if discussed < 100 {
		t.Errorf("got %d discussions, want at least 100", discussed)
	}
	ids := map[string]bool{}
	for _, p := range d.proposals {
		ids[p.ID] = true
	}
	for _, p := range d.onChain {
		ids[p.OnchainID] = true
	}
	for topic := range flatten(maps.Values(d.topics)) {
		checkLinks(t, topic, ids)
	}
}

func (d data) discussions() []string {
	var urls []string
	for _, p := range d.proposals {
		if p.Discussion != nil {
			urls = append(urls, *p.Discussion)
		}
	}
	for _, p := range d.onChain {
		if p.Metadata.DiscourseURL != nil {
			urls = append(urls, *p.Metadata.DiscourseURL)
		}
	}
	return urls
}

func checkTopic(t *testing.T, topic topic, categories []category) {
	t.Helper()
	if !slices.ContainsFunc(categories, func(c category) bool { return c.ID == topic.CategoryID }) {
		t.Errorf("got category %d of topic %q, want one of the forum's", topic.CategoryID, topic.Title)
	}
	if topic.PostsCount < 1 || topic.ReplyCount >= topic.PostsCount || topic.Views < topic.PostsCount || len(topic.Tags) == 0 {
		t.Errorf("got topic %+v, want a post, fewer replies than posts, views and tags", topic)
	}
}

func checkLinks(t *testing.T, topic topic, ids map[string]bool) {
	t.Helper()
	if topic.PostStream == nil {
		return
	}
	cooked := topic.PostStream.Posts[0].Cooked
	for _, link := range regexp.MustCompile(`/proposal/([^"]+)"`).FindAllStringSubmatch(html.UnescapeString(cooked), -1) {
		if !ids[link[1]] {
			t.Errorf("got a link to proposal %s, want one that exists", link[1])
		}
	}
	if strings.Count(cooked, "<p>") != strings.Count(cooked, "</p>") || strings.Count(cooked, "<li>") != strings.Count(cooked, "</li>") {
		t.Errorf("got HTML with elements left open: %s", cooked)
	}
}

func TestNamesAndTextsAreDistinct(t *testing.T) {
	t.Parallel()
	checkNamesAndTexts(t, 300, 500)
}

// TestLongNamesAndTextsAreNotCopies has more DAOs than there are short names, so that some
// have to share one.
func TestLongNamesAndTextsAreNotCopies(t *testing.T) {
	checkNamesAndTexts(t, 2_000, 2_600)
}

func checkNamesAndTexts(t *testing.T, daos, proposals int) {
	t.Helper()
	dir, _ := write(t, demo.Options{Seed: 5, DAOs: daos, Proposals: proposals, Now: now})
	d := read(t, dir)
	env.Want(t, daos, len(daoOfSources(d)), "DAOs")
	names, ids := map[string]bool{}, map[string]bool{}
	for _, dao := range d.daos {
		names[dao.Name], ids[dao.DAOID] = true, true
	}
	if len(names) != len(d.daos) || len(ids) != len(d.daos) {
		t.Errorf("got %d names and %d ids for %d DAOs, want no two alike", len(names), len(ids), len(d.daos))
	}
	titles, bodies := map[string]bool{}, map[string]bool{}
	for _, p := range d.proposals {
		title, body := valueOr(p.Title, p.ID), valueOr(p.Body, p.ID)
		titles[title], bodies[body] = true, true
		if strings.ContainsAny(title+body, "{}") || strings.Contains(title+body, "  ") || strings.HasPrefix(title, " ") {
			t.Errorf("got a text with a missing word: %s\n%s", title, body)
		}
	}
	if got := float64(len(titles)) / float64(len(d.proposals)); got < 0.9 {
		t.Errorf("got %.2f of the titles different, want 0.9", got)
	}
	if got := float64(len(bodies)) / float64(len(d.proposals)); got < 0.999 {
		t.Errorf("got %.3f of the bodies different, want nearly all", got)
	}
}

func TestSizesHaveHeavyTails(t *testing.T) {
	t.Parallel()
	dir, summary := write(t, demo.Options{Seed: 3, DAOs: 45, Proposals: 600, Ballots: 20_000, Largest: 4_000, Now: now})
	d := read(t, dir)
	var sizes []int
	for _, n := range ballotsPerProposal(d) {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	median := sizes[len(sizes)/2]
	if median < 6 || median > 20 {
		t.Errorf("got a median of %d ballots a proposal, want 6 to 20", median)
	}
	if tenth := sizes[len(sizes)-10]; tenth < 10*median {
		t.Errorf("got %d ballots on the tenth largest proposal, want a long tail", tenth)
	}
	checkActiveVoter(t, d, summary.ActiveVoter)
}

// checkActiveVoter checks that the most active voter has the most ballots, in 40 DAOs.
func checkActiveVoter(t *testing.T, d data, active string) {
	t.Helper()
	ballots, voted, daos := map[string]int{}, map[string]bool{}, map[string]int{}
	vote := func(voter, proposal, dao string) {
		ballots[voter]++
		if voter == active && !voted[proposal] {
			voted[proposal] = true
			daos[dao]++
		}
	}
	owner := map[string]string{}
	for dao, sources := range daoOfSources(d) {
		for _, source := range sources {
			owner[source] = dao
		}
	}
	for _, v := range d.votes {
		vote(strings.ToLower(v.Voter), v.Proposal.ID, owner["snapshot "+v.Space.ID])
	}
	organizations := map[string]string{}
	for _, p := range d.onChain {
		organizations[p.ID] = p.Organization.Slug
	}
	for _, v := range d.onChainVotes {
		vote(v.Voter.Address, v.Proposal.ID, owner["tally "+organizations[v.Proposal.ID]])
	}
	env.Want(t, 40, len(daos), "ballots in", "DAOs by the most active voter")
	for dao, n := range daos {
		if n > 50 {
			t.Errorf("got %d ballots in %s by the most active voter, want at most 50", n, dao)
		}
	}
	for voter, n := range ballots {
		if n >= ballots[active] && voter != active {
			t.Errorf("got %d ballots by %s, want fewer than the %d of the most active voter", n, voter, ballots[active])
		}
	}
}
