package publish

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func sources(p records.Proposal, ballots ballots) map[string]governance.Provenance {
	p.ObservedAt = *in(-10)
	a := evaluate(p, "dao", ballots, now)
	found := map[string]governance.Provenance{}
	for _, field := range a.evidence(nil).Provenance {
		found[field.Field] = field
	}
	return found
}

func TestProvenanceNamesTheRecordOfEachKnownField(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"1": "2", "2": "1"})
	votes.totals.ObservedAt = *in(-5)
	own := func(field, statement string) governance.Provenance {
		return governance.Provenance{Field: field, Source: "dao.eth/proposals/0x1" + statement, Provider: governance.Snapshot, ObservedAt: *in(-10)}
	}
	byVotes := func(field string) governance.Provenance {
		p := own(field, "/votes")
		p.ObservedAt = *in(-5)
		return p
	}
	got := sources(snapshotProposal(func(p *record.Proposal) { p.QuorumRaw, p.Quorum = "3", power("3") }), votes)
	want := map[string]governance.Provenance{
		"title": own("title", ""), "bodyText": own("bodyText", ""), "choices": own("choices", ""),
		"quorumRaw": own("quorumRaw", ""), "startAt": own("startAt", ""), "endAt": own("endAt", ""),
		"lifecycleStatus": own("lifecycleStatus", "#start,end"),
		"outcome":         byVotes("outcome"), "ballots": byVotes("ballots"),
	}
	env.WantSame(t, "provenance", want, got)

	got = sources(snapshotProposal(func(p *record.Proposal) {
		*p = record.Proposal{ProposalRef: p.ProposalRef, SourceID: p.SourceID}
	}), ballots{})
	env.WantSame(t, "provenance where nothing is stated", map[string]governance.Provenance{"lifecycleStatus": own("lifecycleStatus", "")}, got)
}

func TestProvenanceNamesTheStatementThatDecided(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"1": "2", "2": "1"})
	for name, c := range map[string]struct {
		proposal records.Proposal
		field    string
		want     string
	}{
		"Tally's status":            {governorProposal("defeated", nil), "outcome", "#status"},
		"the end by Tally's status": {governorProposal("canceled", nil), "lifecycleStatus", "#status"},
		"open by Tally's status": {
			governorProposal("active", func(p *record.Proposal) { p.StartAt, p.EndAt = nil, nil }), "lifecycleStatus", "#status",
		},
		"the DAO's own status": {snapshotProposal(func(p *record.Proposal) { p.UpstreamStatus = "enacted" }), "outcome", "#source_status"},
		"the end by the DAO's own status": {
			snapshotProposal(func(p *record.Proposal) { p.UpstreamStatus, p.State = "enacted", "active" }), "lifecycleStatus", "#source_status",
		},
		"the end by Snapshot's state": {snapshotProposal(func(p *record.Proposal) { p.State = "closed" }), "lifecycleStatus", "#state"},
		"upstream's scores": {
			snapshotProposal(func(p *record.Proposal) {
				p.State, p.StatedScores = "closed", []decimal.Decimal{*power("1"), *power("2"), *power("0")}
			}), "outcome", "#scores",
		},
		"choices known only from ballots": {snapshotProposal(func(p *record.Proposal) { p.Choices = nil }), "choices", "/votes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sources(c.proposal, votes)[c.field]
			env.Want(t, "dao.eth/proposals/0x1"+c.want, got.Source)
		})
	}
}

func TestCountedOutcomeIsAsNewAsItsNewestRecord(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"1": "2", "2": "1"})
	votes.totals.ObservedAt = *in(-20)
	got := sources(snapshotProposal(nil), votes)
	if got["outcome"].ObservedAt != *in(-10) || got["ballots"].ObservedAt != *in(-20) {
		t.Errorf("got %+v and %+v, want the proposal's time for the outcome and the ballots' own for them", got["outcome"], got["ballots"])
	}
}

func TestAnEndBeforeTheStartIsFlagged(t *testing.T) {
	t.Parallel()
	for end, want := range map[int]bool{-49: true, -48: false, -24: false} {
		e := evaluate(snapshotProposal(func(p *record.Proposal) { p.EndAt = in(end) }), "dao", ballots{}, now)
		env.Want(t, want, slices.Contains(e.flags, rules.TimesReversed), "an end", end+48, "hours after the start", "flagged")
	}
}

func TestFlagsDescribeTheBallots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*counts.VoteTotals)
		flag   governance.QualityFlag
	}{
		"no ballots": {func(tally *counts.VoteTotals) { *tally = counts.VoteTotals{} }, rules.BallotsMissing},
		"recast":     {func(tally *counts.VoteTotals) { tally.Recast = true }, rules.RecastsPresent},
		"undated":    {func(tally *counts.VoteTotals) { tally.Undated = 1 }, rules.BallotsUndated},
		"day only":   {func(tally *counts.VoteTotals) { tally.DayOnly = 1 }, rules.BallotsDayOnly},
		"rounded":    {func(tally *counts.VoteTotals) { tally.Rounded = 1 }, rules.PowerRounded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			votes := counted(map[string]string{"1": "2"})
			a := evaluate(snapshotProposal(nil), "dao", votes, now)
			if slices.Contains(a.flags, c.flag) {
				t.Errorf("flagged %s without a reason", c.flag)
			}
			c.change(&votes.totals)
			a = evaluate(snapshotProposal(nil), "dao", votes, now)
			if !slices.Contains(a.evidence(nil).QualityFlags, c.flag) {
				t.Errorf("got flags %v, want %s among them", a.flags, c.flag)
			}
		})
	}
}

func TestWithheldNumbersAreNotComparedWithUpstream(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"1": "2"})
	a := evaluate(snapshotProposal(func(p *record.Proposal) { p.StatedVotes = new(uint64(0)) }), "dao", votes, now)
	a.withhold()
	got := a.evidence(nil)
	if len(got.Warnings) > 0 || slices.Contains(got.QualityFlags, rules.TotalsDifferUpstream) || !slices.Contains(got.QualityFlags, rules.TotalsDisagree) {
		t.Errorf("got warnings %v, flags %v, want %s and nothing about figures", got.Warnings, got.QualityFlags, rules.TotalsDisagree)
	}
}

func TestAnImportIsNoSync(t *testing.T) {
	t.Parallel()
	space := record.SourceRef{Provider: governance.Snapshot, ID: "dao.eth"}
	imported := records.CatalogSource{Proposals: 1, ProposalsSyncedAt: in(0), NewestRecordAt: in(-10)}
	stated := imported
	stated.AsOf = in(-5)
	unfinished := imported
	unfinished.ProposalsSyncedAt = nil
	followed := imported
	followed.Follow = &records.SourceFollow{Complete: true, Status: governance.SourceStatus{
		SourceType: space.Provider, SourceID: space.ID, State: governance.SourceLive, ReadThroughAt: in(-20), LastSuccessAt: in(-1),
	}}
	for name, c := range map[string]struct {
		source records.CatalogSource
		want   *governance.Timestamp
		fresh  governance.SourceFreshness
	}{
		"newest record":     {imported, in(-10), governance.SourceFreshness{Mode: "imported", NewestRecordAt: in(-10)}},
		"the import states": {stated, in(-5), governance.SourceFreshness{Mode: "imported", NewestRecordAt: in(-10)}},
		"cut off":           {unfinished, nil, governance.SourceFreshness{Mode: "imported", NewestRecordAt: in(-10)}},
		"followed":          {followed, in(-20), governance.SourceFreshness{Mode: "followed", NewestRecordAt: in(-10), LastSuccessAt: in(-1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dao := records.CatalogDAO{ID: "dao", Sources: []record.SourceRef{space}}
			catalog := records.Catalog{Sources: map[record.SourceRef]records.CatalogSource{space: c.source}}
			got := evaluateDAO(dao, catalog, counts.DAOTotals{}).status
			env.WantSame(t, "latest sync", c.want, got.LatestSuccessfulSync.GovernanceAt)
			c.fresh.Provider, c.fresh.ID = space.Provider, space.ID
			if len(got.Sources) != 1 {
				t.Fatalf("got sources %v, want one", got.Sources)
			}
			env.WantSame(t, "source", c.fresh, got.Sources[0].Freshness())
		})
	}
}

type conflictCase struct {
	proposal records.Proposal
	ballots  ballots
	want     []governance.WarningCode
	flagged  bool
}

func checkConflicts(t *testing.T, cases map[string]conflictCase) {
	t.Helper()
	wantDetails := map[governance.WarningCode][]string{}
	for _, rule := range rules.WarningRules() {
		wantDetails[rule.Code] = slices.Sorted(slices.Values(rule.Details))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := evaluate(c.proposal, "dao", c.ballots, now)
			codes := []governance.WarningCode{}
			for _, warning := range got.conflicts {
				codes = append(codes, warning.Code)
				var details []string
				for detail := range warning.Details {
					details = append(details, detail)
				}
				slices.Sort(details)
				if diff := cmp.Diff(wantDetails[warning.Code], details); diff != "" {
					t.Errorf("details of %s (-want +got):\n%s", warning.Code, diff)
				}
			}
			if !slices.Equal(codes, c.want) {
				t.Errorf("got %v, want %v", codes, c.want)
			}
			if flagged := slices.Contains(got.flags, rules.TotalsDifferUpstream); flagged != c.flagged {
				t.Errorf("got flags %v, want %s: %t", got.flags, rules.TotalsDifferUpstream, c.flagged)
			}
		})
	}
}

func TestStatedFiguresAreComparedWithBallots(t *testing.T) {
	t.Parallel()
	stored := counted(map[string]string{"1": "10", "2": "0.000000000000000001"})
	stated := func(votes uint64, total string, scores ...string) records.Proposal {
		return snapshotProposal(func(p *record.Proposal) {
			p.StatedVotes, p.Choices = &votes, []string{"Red", "Blue"}
			if total != "" {
				p.StatedScoresTotal = power(total)
			}
			for _, score := range scores {
				p.StatedScores = append(p.StatedScores, *power(score))
			}
		})
	}
	ofGovernor := counted(map[string]string{"for": "10", "against": "3"})
	contract := func(scores ...string) records.Proposal {
		return chainProposal("executed", func(p *record.Proposal) { p.StatedScores = stated(0, "", scores...).StatedScores })
	}
	blank := counted(map[string]string{"1": "10"})
	blank.totals.Votes, blank.totals.Power = 2, decimal.NewFromInt(15)
	checkConflicts(t, map[string]conflictCase{
		"nothing stated":             {snapshotProposal(nil), stored, nil, false},
		"all agrees":                 {stated(2, "10.000000000000000001", "10", "0.000000000000000001"), stored, nil, false},
		"floating point":             {stated(2, "10.000000009", "9.999999992", "0"), stored, nil, false},
		"beyond floating point":      {stated(2, "10.00000002"), stored, []governance.WarningCode{rules.TotalDiffers}, true},
		"one score":                  {stated(2, "", "10", "0.5"), stored, []governance.WarningCode{rules.ScoresDiffer}, true},
		"both scores":                {stated(2, "10", "5", "5"), stored, []governance.WarningCode{rules.ScoresDiffer, rules.ScoresDiffer}, true},
		"scores of other choices":    {stated(2, "", "1", "2", "3"), stored, nil, false},
		"more stored than stated":    {stated(1, ""), stored, []governance.WarningCode{rules.VotesDiffer}, true},
		"ballots missing":            {stated(3, "99", "99", "0"), stored, []governance.WarningCode{rules.VotesDiffer}, false},
		"no ballots stored":          {stated(3, "99"), ballots{}, nil, false},
		"blank ballots in the total": {stated(2, "15"), blank, nil, false},
		"blank ballots left out":     {stated(2, "10"), blank, nil, false},
		"a contract's own sums":      {contract("10", "3", "0"), ofGovernor, nil, false},
		"a contract has a vote more": {contract("10", "4", "0"), ofGovernor, []governance.WarningCode{rules.ScoresDiffer}, true},
		"neither with nor without":   {stated(2, "12"), blank, []governance.WarningCode{rules.TotalDiffers}, true},
	})
}

func TestContradictingStatesYieldWarnings(t *testing.T) {
	t.Parallel()
	status := func(state, status string) records.Proposal {
		return snapshotProposal(func(p *record.Proposal) { p.State, p.UpstreamStatus, p.EndAt = state, status, in(24) })
	}
	seen := func(p records.Proposal, hours int) records.Proposal {
		p.ObservedAt = *in(hours)
		return p
	}
	active := func(p *record.Proposal) { p.State = "active" }
	checkConflicts(t, map[string]conflictCase{
		"both say it is over":              {status("closed", "rejected"), ballots{}, nil, false},
		"both say it is open":              {status("active", "active"), ballots{}, nil, false},
		"over for the DAO":                 {status("active", "enacted"), ballots{}, []governance.WarningCode{rules.StatusDiffers}, false},
		"open for the DAO":                 {status("closed", "pending"), ballots{}, []governance.WarningCode{rules.StatusDiffers}, false},
		"a status that says neither":       {status("active", "finished"), ballots{}, nil, false},
		"no status of its own":             {status("active", ""), ballots{}, nil, false},
		"no state":                         {status("", "enacted"), ballots{}, nil, false},
		"open when seen before the end":    {seen(snapshotProposal(active), -25), ballots{}, nil, false},
		"open when seen after the end":     {seen(snapshotProposal(active), -23), ballots{}, []governance.WarningCode{rules.StateOutdated}, false},
		"closed when seen after the end":   {seen(snapshotProposal(func(p *record.Proposal) { p.State = "closed" }), -23), ballots{}, nil, false},
		"only the day of the end is known": {seen(snapshotProposal(func(p *record.Proposal) { p.State, p.EndDayOnly = "active", true }), -23), ballots{}, nil, false},
	})
}

func TestStatedOutcomeIsComparedWithVotes(t *testing.T) {
	t.Parallel()
	won := counted(map[string]string{"1": "10", "2": "1"})
	lost := counted(map[string]string{"1": "1", "2": "10"})
	governor := counted(map[string]string{"for": "10", "against": "1", "abstain": "0"})
	status := func(status string) records.Proposal {
		return snapshotProposal(func(p *record.Proposal) { p.UpstreamStatus = status })
	}
	quorum := func(p *record.Proposal) { p.Quorum = power("11") }
	differs := []governance.WarningCode{rules.OutcomeDiffersFromVotes}
	checkConflicts(t, map[string]conflictCase{
		"rejected and lost":                {status("rejected"), lost, nil, false},
		"rejected but won":                 {status("rejected"), won, differs, false},
		"enacted and won":                  {status("enacted"), won, nil, false},
		"enacted but lost":                 {status("enacted"), lost, differs, false},
		"won, but there was no budget":     {status("out_of_budget"), won, nil, false},
		"won, but deleted":                 {status("deleted"), won, nil, false},
		"nothing stated":                   {status(""), won, nil, false},
		"executed without a quorum":        {governorProposal("executed", quorum), governor, differs, false},
		"defeated for want of a quorum":    {governorProposal("defeated", quorum), governor, nil, false},
		"won, but expired":                 {governorProposal("expired", func(p *record.Proposal) { p.Quorum = power("1") }), governor, nil, false},
		"the Governor's quorum is unknown": {governorProposal("defeated", nil), governor, nil, false},
		"ballots missing": {
			governorProposal("executed", func(p *record.Proposal) { p.Quorum, p.StatedVotes = power("11"), new(uint64(9)) }), governor,
			[]governance.WarningCode{rules.VotesDiffer},
			false,
		},
	})
}

func TestCounterpartsAreCompared(t *testing.T) {
	t.Parallel()
	elsewhere := evaluate(governorProposal("executed", func(p *record.Proposal) { p.Title = " # renew  the Budget" }), "dao", ballots{}, now)
	for name, c := range map[string]struct {
		title, status string
		want          []governance.WarningCode
	}{
		"alike":                     {"Renew the budget", "enacted", nil},
		"passed, then executed":     {"Renew the budget", "passed", nil},
		"another title":             {"Renew the budget again", "passed", []governance.WarningCode{rules.TitleDiffers}},
		"no title":                  {"", "passed", nil},
		"title of the text":         {"Budget in short", "passed", nil},
		"another outcome":           {"Renew the budget", "rejected", []governance.WarningCode{rules.OutcomeDiffers}},
		"no outcome":                {"Renew the budget", "finished", nil},
		"another title and outcome": {"Other", "deleted", []governance.WarningCode{rules.TitleDiffers, rules.OutcomeDiffers}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proposal := snapshotProposal(func(p *record.Proposal) { p.Title, p.UpstreamStatus = c.title, c.status })
			proposal.TitleDerived = name == "title of the text"
			here := evaluate(proposal, "dao", ballots{}, now)
			got := here.evidence([]*evaluation{&elsewhere}).Warnings
			var codes []governance.WarningCode
			for _, warning := range got {
				codes = append(codes, warning.Code)
				if warning.Details["proposalKey"] != string(elsewhere.key) || warning.Details["provider"] != "tally" {
					t.Errorf("got %v, want the other proposal named", warning.Details)
				}
			}
			if !slices.Equal(codes, c.want) {
				t.Errorf("got %v, want %v", codes, c.want)
			}
		})
	}
}

func TestACorrectionStatesWhatChangedTheResult(t *testing.T) {
	t.Parallel()
	final := func(change func(*record.Proposal), powers map[string]string) *evaluation {
		e := evaluate(snapshotProposal(func(p *record.Proposal) {
			p.State = "closed"
			change(p)
		}), "dao", counted(powers), now)
		return &e
	}
	unchanged := func(*record.Proposal) {}
	p := &proposalPublication{run: &run{Input: Input{Revision: 2, At: now}}}
	for name, c := range map[string]struct {
		was  func(*counts.ProposalState)
		is   *evaluation
		want map[string]governance.CorrectionReason
	}{
		"nothing": {nil, final(unchanged, map[string]string{"1": "2"}), nil},
		"a ballot": {nil, final(unchanged, map[string]string{"1": "2", "2": "1"}), map[string]governance.CorrectionReason{
			"totals.votes": governance.LateBallots, "totals.votingPower": governance.LateBallots, "choices.2.votingPower": governance.LateBallots,
		}},
		"a rule": {
			func(s *counts.ProposalState) { s.TotalPower = decimal.NewFromInt(3) }, final(unchanged, map[string]string{"1": "2"}),
			map[string]governance.CorrectionReason{"totals.votingPower": governance.NewRule},
		},
		"a rule since a version without fingerprints": {
			func(s *counts.ProposalState) { s.TotalPower, s.StatedFingerprint = decimal.NewFromInt(3), 0 },
			final(unchanged, map[string]string{"1": "2"}),
			map[string]governance.CorrectionReason{"totals.votingPower": governance.NewRule},
		},
		"a result that was not final": {
			func(s *counts.ProposalState) { s.TotalPower, s.Settled = decimal.NewFromInt(3), false },
			final(unchanged, map[string]string{"1": "2"}), nil,
		},
		"execution": {
			func(s *counts.ProposalState) { s.Outcome = governance.Passed },
			final(func(p *record.Proposal) { p.UpstreamStatus = "executed" }, map[string]string{"1": "2"}), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := final(unchanged, map[string]string{"1": "2"}).state(1)
			if c.was != nil {
				c.was(&was)
			}
			got := map[string]governance.CorrectionReason{}
			for _, found := range p.correctedBy(was, c.is).corrections {
				got[found.Field] = found.Reason
			}
			env.Want(t, len(c.want), len(got), got)
			for field, reason := range c.want {
				env.Want(t, reason, got[field], "for", field)
			}
		})
	}
}
