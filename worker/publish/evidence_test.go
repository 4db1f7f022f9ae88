package publish

import (
	"slices"
	"testing"

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
