package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func in(hours int) *governance.Timestamp {
	stamp := governance.TimestampOf(now.Add(time.Duration(hours) * time.Hour))
	return &stamp
}

func snapshotProposal(change func(*record.Proposal)) records.Proposal {
	p := record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x1"},
		SourceID:    "dao.eth", Title: "Title", Body: "Body", VoteType: governance.SingleChoice,
		Choices: []string{"For", "Against", "Abstain"}, StartAt: in(-48), EndAt: in(-24),
	}
	if change != nil {
		change(&p)
	}
	return records.Proposal{Proposal: p, Ref: p.Hash()}
}

func governorProposal(state string, change func(*record.Proposal)) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.Provider, p.State = governance.Tally, state
		if change != nil {
			change(p)
		}
	})
}

func counted(powers map[string]string) ballots {
	t := counts.VoteTotals{Choices: map[string]governance.Score{}, RootSums: map[string]decimal.Decimal{}}
	for key, text := range powers {
		power := decimal.RequireFromString(text)
		t.Choices[key] = governance.Score{Votes: 1, Power: power}
		t.Votes++
		t.Power = t.Power.Add(power)
	}
	t.SupportingPower = t.Power
	return ballots{totals: t}
}

func power(text string) *decimal.Decimal {
	d := decimal.RequireFromString(text)
	return &d
}

// What is published stays what it would be if it were published now.
func TestTheClockChangesNothingThatIsNotDue(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"", "pending", "active", "closed", "canceled", "executed"} {
		for _, times := range [][2]*governance.Timestamp{{in(2), in(4)}, {in(4), in(2)}, {nil, in(2)}, {in(2), nil}} {
			p := governorProposal(state, func(p *record.Proposal) {
				p.CreatedAt, p.StartAt, p.EndAt = in(-9), times[0], times[1]
				p.Milestones = []record.Milestone{{Type: "executed", At: in(3)}, {Type: "canceled"}, {Type: "expires", At: in(1)}}
			})
			published := evaluate(p, "dao", ballots{}, now)
			for hours := range 6 {
				at := now.Add(time.Duration(hours) * time.Hour)
				fresh := evaluate(p, "dao", ballots{}, at)
				if due := published.nextChangeAt; due != nil && !due.Time().After(at) {
					published = fresh
				}
				if published.lifecycle != fresh.lifecycle || *published.updatedAt != *fresh.updatedAt {
					t.Errorf("%q, %v, after %d hours: got %s, updated at %s, want %s, %s",
						state, times, hours, published.lifecycle, published.updatedAt, fresh.lifecycle, fresh.updatedAt)
				}
			}
		}
	}
}

func TestLifecycleFollowsUpstreamThenTheClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proposal records.Proposal
		want     governance.Lifecycle
		changes  *governance.Timestamp
	}{
		"before the start": {snapshotProposal(func(p *record.Proposal) { p.StartAt, p.EndAt = in(1), in(2) }), governance.Pending, in(1)},
		"between":          {snapshotProposal(func(p *record.Proposal) { p.StartAt, p.EndAt = in(-1), in(2) }), governance.Active, in(2)},
		"at the end":       {snapshotProposal(func(p *record.Proposal) { p.EndAt = in(0) }), governance.Closed, nil},
		"upstream says active but the end has passed": {snapshotProposal(func(p *record.Proposal) { p.State = "active" }), governance.Closed, nil},
		"upstream closed it early":                    {snapshotProposal(func(p *record.Proposal) { p.State, p.EndAt = "closed", in(2) }), governance.Closed, in(2)},
		"canceled before the start": {
			governorProposal("canceled", func(p *record.Proposal) { p.StartAt, p.EndAt = in(1), in(2) }), governance.Closed, in(1),
		},
		"no times, upstream says active": {
			governorProposal("active", func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }), governance.Active, nil,
		},
		"neither times nor state": {snapshotProposal(func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }), governance.Closed, nil},
		"an unknown word before the end": {
			governorProposal("reconsidered", func(p *record.Proposal) { p.StartAt, p.EndAt = in(-1), in(2) }), governance.Active, in(2),
		},
		"an unknown word after the end":    {governorProposal("reconsidered", nil), governance.Closed, nil},
		"an unknown word without an end":   {governorProposal("reconsidered", func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }), governance.Active, nil},
		"extended beyond the end as known": {governorProposal("extended", func(p *record.Proposal) { p.EndAt = in(2) }), governance.Active, in(2)},
		"started, end unknown":             {snapshotProposal(func(p *record.Proposal) { p.EndAt = nil }), governance.Active, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := evaluate(c.proposal, "dao", ballots{}, now)
			if got.lifecycle != c.want || cmp.Diff(c.changes, got.nextChangeAt) != "" {
				t.Errorf("got %s until %v, want %s until %v", got.lifecycle, got.nextChangeAt, c.want, c.changes)
			}
		})
	}
}

func TestOutcomeIsStatedOrDerivedOrUnknown(t *testing.T) {
	t.Parallel()
	forWins := counted(map[string]string{"1": "10", "2": "9.999999999999999999"})
	governor := counted(map[string]string{"for": "10", "against": "3", "abstain": "2"})
	for name, c := range map[string]struct {
		proposal records.Proposal
		ballots  ballots
		want     governance.Outcome
	}{
		"governor succeeded":                      {governorProposal("succeeded", nil), ballots{}, governance.Passed},
		"governor queued":                         {governorProposal("queued", nil), ballots{}, governance.Passed},
		"governor executed":                       {governorProposal("executed", nil), ballots{}, governance.Executed},
		"governor defeated":                       {governorProposal("defeated", nil), ballots{}, governance.Failed},
		"governor expired":                        {governorProposal("expired", nil), ballots{}, governance.Failed},
		"governor canceled":                       {governorProposal("canceled", nil), ballots{}, governance.Canceled},
		"governor, state unknown, quorum unknown": {governorProposal("", nil), governor, governance.Unknown},
		"governor, state unknown, quorum reached": {
			governorProposal("", func(p *record.Proposal) { p.Quorum = power("12") }), governor, governance.Passed,
		},
		"governor, against does not count towards the quorum": {
			governorProposal("", func(p *record.Proposal) { p.Quorum = power("13") }), governor, governance.Failed,
		},
		"decentraland enacted":  {snapshotProposal(func(p *record.Proposal) { p.UpstreamStatus = "enacted" }), ballots{}, governance.Executed},
		"decentraland rejected": {snapshotProposal(func(p *record.Proposal) { p.UpstreamStatus = "rejected" }), forWins, governance.Failed},
		"decentraland finished": {snapshotProposal(func(p *record.Proposal) { p.UpstreamStatus = "finished" }), forWins, governance.Unknown},
		"for has more":          {snapshotProposal(nil), forWins, governance.Passed},
		"a tie fails":           {snapshotProposal(nil), counted(map[string]string{"1": "1", "2": "1"}), governance.Failed},
		"quorum missed":         {snapshotProposal(func(p *record.Proposal) { p.Quorum = power("20") }), forWins, governance.Failed},
		"everybody's power counts towards Snapshot's quorum": {
			snapshotProposal(func(p *record.Proposal) { p.Quorum = power("19.999999999999999999") }), forWins, governance.Passed,
		},
		"upstream's scores win over partial ballots": {
			snapshotProposal(func(p *record.Proposal) {
				p.State, p.StatedVotes, p.StatedScores = "closed", new(uint64(50)), []decimal.Decimal{*power("1"), *power("2"), *power("0")}
			}), forWins, governance.Failed,
		},
		"partial ballots, no scores": {snapshotProposal(func(p *record.Proposal) { p.StatedVotes = new(uint64(50)) }), forWins, governance.Unknown},
		"labels that say nothing":    {snapshotProposal(func(p *record.Proposal) { p.Choices = []string{"Red", "Blue"} }), forWins, governance.Unknown},
		"a type without a winner":    {snapshotProposal(func(p *record.Proposal) { p.VoteType = governance.Approval }), forWins, governance.Unknown},
		"still open":                 {snapshotProposal(func(p *record.Proposal) { p.EndAt = in(1) }), forWins, governance.Unknown},
		"no ballot, none expected":   {snapshotProposal(func(p *record.Proposal) { p.StatedVotes = new(uint64(0)) }), ballots{}, governance.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, c.want, evaluate(c.proposal, "dao", c.ballots, now).outcome)
		})
	}
}

func TestReadinessAndCoverageFollowStoredBallots(t *testing.T) {
	t.Parallel()
	stored := counted(map[string]string{"1": "1"})
	for name, c := range map[string]struct {
		stated   *uint64
		ballots  ballots
		ready    bool
		coverage governance.Coverage
	}{
		"ballots stored, nothing stated":              {nil, stored, true, governance.Complete},
		"all stored":                                  {new(uint64(1)), stored, true, governance.Complete},
		"upstream states more":                        {new(uint64(2)), stored, true, governance.Partial},
		"upstream states none":                        {new(uint64(0)), ballots{}, true, governance.Complete},
		"none stored, some stated":                    {new(uint64(5)), ballots{}, false, governance.CoverageUnavailable},
		"none stored, nothing stated":                 {nil, ballots{}, false, governance.CoverageUnavailable},
		"one is unreadable":                           {nil, counted(map[string]string{"1": "1", record.Unreadable: "0"}), true, governance.Partial},
		"a file lacks some":                           {nil, stored, true, governance.Partial},
		"a file lacks some, but all are stored":       {new(uint64(1)), stored, true, governance.Complete},
		"a file lacks some, fewer were stated before": {new(uint64(0)), stored, true, governance.Partial},
		"a file lacks all":                            {nil, ballots{}, false, governance.CoverageUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := snapshotProposal(func(p *record.Proposal) { p.StatedVotes, p.Quorum = c.stated, power("1") })
			p.LacksBallots = strings.HasPrefix(name, "a file lacks")
			a := evaluate(p, "dao", c.ballots, now)
			got := a.summary()
			warned := slices.ContainsFunc(a.conflicts, func(w governance.Warning) bool { return w.Code == rules.BallotsRejected })
			env.Want(t, p.LacksBallots && c.coverage != governance.Complete, warned, "warned of rejected ballots")
			if ready := got.Totals != nil; ready != c.ready || (got.Quorum != nil) != c.ready || (len(got.Choices) > 0) != c.ready {
				t.Errorf("got totals %v, quorum %v, choices %v, want ready %v", got.Totals, got.Quorum, got.Choices, c.ready)
			}
			env.Want(t, c.coverage, got.CoverageStatus, "coverage")
		})
	}
}

func TestChoicesAreDerivedFromBallotsWhereUpstreamStatesNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stated  []string
		ballots ballots
		want    []governance.Choice
		derived bool
	}{
		"all stated":         {[]string{"A", "B"}, counted(map[string]string{"2": "1"}), []governance.Choice{{Key: "1", Label: "A"}, {Key: "2", Label: "B"}}, false},
		"none stated":        {nil, counted(map[string]string{"3": "1"}), []governance.Choice{{Key: "1", Label: "Choice 1"}, {Key: "2", Label: "Choice 2"}, {Key: "3", Label: "Choice 3"}}, true},
		"one beyond":         {[]string{"A"}, counted(map[string]string{"10": "1", "2": "1"}), []governance.Choice{{Key: "1", Label: "A"}}, false},
		"no ballots either":  {nil, ballots{}, []governance.Choice{}, false},
		"a gap of thousands": {nil, counted(map[string]string{"5000": "1"}), []governance.Choice{{Key: "5000", Label: "Choice 5000"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := countVotes(snapshotProposal(func(p *record.Proposal) { p.Choices = c.stated }), c.ballots, true)
			env.WantSame(t, "choices", c.want, got.choices)
			derived := false
			for _, flag := range got.flags {
				derived = derived || flag == rules.ChoicesDerived
			}
			env.Want(t, c.derived, derived, "derived")
		})
	}
}

func TestResultThatDoesNotSumToItsBallotsIsUnbalanced(t *testing.T) {
	t.Parallel()
	b := counted(map[string]string{"1": "1", "2": "2"})
	if got := countVotes(snapshotProposal(nil), b, true); got.unbalanced != nil {
		t.Errorf("got %v for a count that adds up", got.unbalanced)
	}
	b.totals.SupportingPower = *power("3.000000000000000001")
	if got := countVotes(snapshotProposal(nil), b, true); got.unbalanced == nil {
		t.Error("got no error for a count that lacks 10^-18")
	}
}

func TestCopelandScoresAreUpstreams(t *testing.T) {
	t.Parallel()
	b := counted(map[string]string{"1": "1", "2": "2"})
	copeland := func(scores ...decimal.Decimal) voteResult {
		return countVotes(snapshotProposal(func(p *record.Proposal) {
			p.VoteType, p.Choices, p.StatedScores = governance.Copeland, []string{"A", "B"}, scores
			p.State, p.StatedScoresTotal, p.StatedVotes = "closed", power("3"), new(uint64(2))
		}), b, true)
	}
	if got := copeland(); got.scores != nil || !slices.Contains(got.flags, rules.ScoresUnavailable) || !got.ready() {
		t.Errorf("without stated scores: got scores %v, flags %v, want none and %s", got.scores, got.flags, rules.ScoresUnavailable)
	}
	got := copeland(*power("0.5"), *power("1.5"))
	want := []governance.ChoiceTotal{
		{Key: "1", Label: "A", VotingPower: "0.5"}, {Key: "2", Label: "B", VotingPower: "1.5"},
	}
	env.WantSame(t, "with stated scores", want, got.choiceTotals())
}

func TestUpdatedAtIsStatedOrTheLatestPassedTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*record.Proposal)
		want   *governance.Timestamp
	}{
		"stated":       {func(p *record.Proposal) { p.UpdatedAt = in(-100) }, in(-100)},
		"ended":        {nil, in(-24)},
		"not ended":    {func(p *record.Proposal) { p.EndAt = in(24) }, in(-48)},
		"executed":     {func(p *record.Proposal) { p.Milestones = []record.Milestone{{Type: "executed", At: in(-2)}} }, in(-2)},
		"only created": {func(p *record.Proposal) { p.CreatedAt, p.StartAt, p.EndAt = in(-5), in(5), in(9) }, in(-5)},
		"nothing":      {func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := evaluate(snapshotProposal(c.change), "dao", ballots{}, now).updatedAt; cmp.Diff(c.want, got) != "" {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestDAOCoverageFollowsItsSources(t *testing.T) {
	t.Parallel()
	space := record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}
	forum := record.SourceRef{Provider: governance.Discourse, ID: "forum.dao.org"}
	synced := records.CatalogSource{Proposals: 1, ProposalsSyncedAt: in(-1)}
	for name, c := range map[string]struct {
		sources map[record.SourceRef]records.CatalogSource
		want    governance.Coverage
	}{
		"no records":              {nil, governance.CoverageUnavailable},
		"one of two missing":      {map[record.SourceRef]records.CatalogSource{space: synced}, governance.Partial},
		"one not read to its end": {map[record.SourceRef]records.CatalogSource{space: synced, forum: {Topics: 1}}, governance.Backfilling},
		"both read to their end":  {map[record.SourceRef]records.CatalogSource{space: synced, forum: {TopicsSyncedAt: in(-1)}}, governance.Complete},
		"one lacks something": {map[record.SourceRef]records.CatalogSource{
			space: {Proposals: 1, Follow: &records.SourceFollow{Complete: true, Lacks: "3 logs of events that are not known"}}, forum: {TopicsSyncedAt: in(-1)},
		}, governance.Partial},
		"a later file lacks something": {map[record.SourceRef]records.CatalogSource{
			space: {Proposals: 1, ProposalsSyncedAt: in(-1), Lacks: true}, forum: {TopicsSyncedAt: in(-1)},
		}, governance.Partial},
		"ballots alone are no end": {map[record.SourceRef]records.CatalogSource{space: {Proposals: 1, BallotsSyncedAt: in(-1)}}, governance.Backfilling},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dao := records.CatalogDAO{ID: "dao", Sources: []record.SourceRef{space, forum}}
			env.Want(t, c.want, daoCoverage(dao, records.Catalog{Sources: c.sources}))
		})
	}
}

func TestDAOVoteCoverageFollowsStartedProposals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		total, started, ready, covered uint64
		want                           governance.VoteCoverage
	}{
		"no proposals":   {0, 0, 0, 0, governance.VotesUnavailable},
		"none has votes": {3, 3, 0, 0, governance.VotesUnavailable},
		"some have":      {3, 3, 1, 1, governance.VotesPartial},
		"one is partial": {3, 3, 3, 2, governance.VotesPartial},
		"all have":       {3, 3, 3, 3, governance.VotesReady},
		"none has begun": {3, 0, 0, 0, governance.VotesReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			totals := counts.DAOTotals{Started: c.started, Ready: c.ready, Covered: c.covered}
			totals.Counts.Total = c.total
			env.Want(t, c.want, daoVoteCoverage(totals))
		})
	}
}

func TestGlobalStatusIsTheStatusOfAllDAOs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statuses []governance.Coverage
		want     governance.Coverage
	}{
		"none":             {nil, governance.CoverageUnavailable},
		"all complete":     {[]governance.Coverage{governance.Complete, governance.Complete}, governance.Complete},
		"they differ":      {[]governance.Coverage{governance.Complete, governance.CoverageUnavailable}, governance.Partial},
		"one is filling":   {[]governance.Coverage{governance.Complete, governance.Backfilling}, governance.Backfilling},
		"all have nothing": {[]governance.Coverage{governance.CoverageUnavailable}, governance.CoverageUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var daos []governance.DataStatus
			for _, status := range c.statuses {
				daos = append(daos, governance.DataStatus{CoverageStatus: status, VoteCoverageStatus: governance.VotesReady})
			}
			env.Want(t, c.want, globalStatus(daos).CoverageStatus)
		})
	}
}

func TestUnknownWordOfUpstreamDecidesNothing(t *testing.T) {
	t.Parallel()
	ballots := counted(map[string]string{"for": "10", "against": "3", "abstain": "2"})
	e := evaluate(governorProposal("reconsidered", func(p *record.Proposal) { p.Quorum = new(decimal.NewFromInt(1)) }), "dao", ballots, now)
	env.Want(t, governance.Unknown, e.outcome, "an unknown outcome")
	if !slices.ContainsFunc(e.conflicts, func(w governance.Warning) bool {
		return w.Code == rules.StateUnknown && w.Details["state"] == "reconsidered"
	}) {
		t.Errorf("got warnings %v, want the word", e.conflicts)
	}
}

const governorID = "eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"

func chainProposal(state string, change func(*record.Proposal)) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.Provider, p.SourceID, p.ExternalID, p.State = governance.Governor, governorID, governorID+"/85", state
		if change != nil {
			change(p)
		}
	})
}

func TestGovernorStatesDecideTheOutcome(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]governance.Outcome{
		"pending": governance.Unknown, "active": governance.Unknown, "canceled": governance.Canceled,
		"defeated": governance.Failed, "succeeded": governance.Passed, "queued": governance.Passed,
		"expired": governance.Failed, "executed": governance.Executed, "": governance.Unknown,
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			e := evaluate(chainProposal(state, nil), "dao", ballots{}, now)
			if e.outcome != want || e.lifecycle != governance.Closed {
				t.Errorf("got %s and %s, want %s and closed", e.outcome, e.lifecycle, want)
			}
		})
	}
}

func TestGovernorQuorumIsCountedByTheProposalsRule(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"for": "10", "against": "4", "abstain": "2.000000000000000001"})
	for choices, want := range map[string]string{
		"": "1 true passed", "for,abstain": "1 true passed", "for": "0.833333 false failed", "against": "0.333333 false failed",
		"for,against,abstain": "1.333333 true passed",
	} {
		t.Run(choices, func(t *testing.T) {
			t.Parallel()
			e := evaluate(chainProposal("", func(p *record.Proposal) {
				if p.QuorumRaw, p.Quorum = "12", power("12"); choices != "" {
					p.QuorumChoices = strings.Split(choices, ",")
				}
			}), "dao", votes, now)
			q := e.summary().Quorum
			if got := fmt.Sprint(q.Progress, " ", *q.Reached, " ", e.outcome); got != want || q.Raw != "12" || q.Type != governance.QuorumOfApproval {
				t.Errorf("got %s of %+v, want %s", got, q, want)
			}
		})
	}
}

func TestVoteWithDividedBallotsIsDecidedOnAGovernorAlone(t *testing.T) {
	t.Parallel()
	weighted := func(p *record.Proposal) { p.VoteType, p.Quorum = governance.Weighted, power("3") }
	for name, c := range map[string]struct {
		proposal records.Proposal
		votes    map[string]string
		want     governance.Outcome
	}{
		"for wins on a Governor":     {chainProposal("", weighted), map[string]string{"for": "5", "against": "4"}, governance.Passed},
		"against wins on a Governor": {chainProposal("", weighted), map[string]string{"for": "4", "against": "5"}, governance.Failed},
		"equal on a Governor":        {chainProposal("", weighted), map[string]string{"for": "5", "against": "5"}, governance.Failed},
		"on Snapshot":                {snapshotProposal(weighted), map[string]string{"1": "5", "2": "4"}, governance.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, c.want, evaluate(c.proposal, "dao", counted(c.votes), now).outcome)
		})
	}
}

func TestProvenanceNamesBlockOrMessage(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"for": "2"})
	block, message := "eip155:1 block 19000000 0x6b27", "hub.snapshot.org message 0xf833"
	for name, c := range map[string]struct {
		proposal records.Proposal
		source   string
		want     *string
	}{
		"a block": {
			chainProposal("executed", func(p *record.Proposal) { p.Origin = block }), governorID + "/proposals/85", &block,
		},
		"a message": {snapshotProposal(func(p *record.Proposal) { p.Origin = message }), "dao.eth/proposals/0x1", &message},
		"a file":    {snapshotProposal(nil), "dao.eth/proposals/0x1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for field, got := range sources(c.proposal, votes) {
				want := c.want
				if strings.HasSuffix(got.Source, "/votes") {
					want = nil
				}
				if diff := cmp.Diff(want, got.Origin); diff != "" || !strings.HasPrefix(got.Source, c.source) {
					t.Errorf("%s: got source %q, want %s…; origin (-want +got):\n%s", field, got.Source, c.source, diff)
				}
			}
		})
	}
}
