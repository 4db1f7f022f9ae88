package publish

import (
	"fmt"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
)

// daoAssessment is everything that is worked out for one DAO.
type daoAssessment struct {
	dao           warehouse.CatalogDAO
	totals        warehouse.DAOTotals
	participation warehouse.Participation
	// unsettled says that the two do not agree yet.
	unsettled bool
	// topics counts the DAO's visible forum topics.
	topics      uint64
	forumAt     *governance.Timestamp
	sync        governance.LatestSync
	coverage    governance.Coverage
	votes       governance.VoteCoverage
	sourceTypes []governance.Provider
}

// assessDAO works out a DAO from the sums over its proposals and what is held
// of its sources.
func assessDAO(dao warehouse.CatalogDAO, catalog warehouse.Catalog, totals warehouse.DAOTotals) daoAssessment {
	a := daoAssessment{dao: dao, totals: totals, sourceTypes: []governance.Provider{}}
	for _, ref := range dao.Sources {
		source := catalog.Sources[ref]
		a.topics += source.Topics
		a.forumAt = governance.Later(a.forumAt, source.LatestTopicAt)
		a.sync.GovernanceAt = governance.Later(a.sync.GovernanceAt,
			governance.Later(source.ProposalsSyncedAt, source.BallotsSyncedAt))
		a.sync.ForumAt = governance.Later(a.sync.ForumAt, source.TopicsSyncedAt)
		a.sourceTypes = append(a.sourceTypes, ref.Provider)
	}
	slices.Sort(a.sourceTypes)
	a.sourceTypes = slices.Compact(a.sourceTypes)
	a.coverage = daoCoverage(dao, catalog)
	a.votes = daoVoteCoverage(totals)
	return a
}

// daoCoverage is complete when every source was read to its end, backfilling
// while one that never was has records already, and partial when one is missing.
func daoCoverage(dao warehouse.CatalogDAO, catalog warehouse.Catalog) governance.Coverage {
	var synced, begun int
	for _, ref := range dao.Sources {
		source := catalog.Sources[ref]
		switch {
		case ref.Provider == governance.Discourse && source.TopicsSyncedAt != nil,
			ref.Provider != governance.Discourse && source.ProposalsSyncedAt != nil:
			synced++
		case source.HasRecords():
			begun++
		}
	}
	switch {
	case len(dao.Sources) > 0 && synced == len(dao.Sources):
		return governance.Complete
	case begun > 0:
		return governance.Backfilling
	case synced > 0:
		return governance.Partial
	}
	return governance.CoverageUnavailable
}

// daoVoteCoverage looks at the proposals that have started: ready when each has
// all its ballots, unavailable when none has any.
func daoVoteCoverage(t warehouse.DAOTotals) governance.VoteCoverage {
	switch {
	case t.Counts.Total == 0, t.Started > 0 && t.Ready == 0:
		return governance.VotesUnavailable
	case t.Covered == t.Started:
		return governance.VotesReady
	}
	return governance.VotesPartial
}

// balance holds the votes over the DAO's proposals against its ballots.
func (a daoAssessment) balance() error {
	if a.totals.Votes != a.participation.Votes {
		return fmt.Errorf("%w: DAO %s has %d votes over proposals, %d over ballots", errUnbalanced,
			a.dao.ID, a.totals.Votes, a.participation.Votes)
	}
	return nil
}

func (a daoAssessment) listItem() governance.DAOListItem {
	return governance.DAOListItem{
		DAOID:              a.dao.ID,
		Name:               a.dao.Name,
		HasVoteData:        a.totals.Votes > 0,
		HasForumData:       a.topics > 0,
		CoverageStatus:     a.coverage,
		VoteCoverageStatus: a.votes,
		ProposalCounts:     governance.ListCounts{Total: a.totals.Counts.Total, Active: a.totals.Counts.Active},
		LatestActivity: governance.LatestActivity{
			ProposalAt: a.totals.CreatedAt, VoteAt: a.totals.VotedAt, ForumAt: a.forumAt,
		},
	}
}

func (a daoAssessment) detail() governance.DAODetail {
	return governance.DAODetail{
		DAOID:              a.dao.ID,
		Name:               a.dao.Name,
		CoverageStatus:     a.coverage,
		VoteCoverageStatus: a.votes,
		ProposalCounts:     a.totals.Counts,
		Outcomes:           a.totals.Outcomes,
		Participation: governance.Participation{
			UniqueVoters:     governance.CountOf(a.participation.UniqueVoters),
			TotalVotes:       governance.CountOf(a.participation.Votes),
			TotalVotingPower: governance.DecimalOf(a.totals.Power),
		},
		SourceTypes: a.sourceTypes,
	}
}

func (a daoAssessment) dataStatus() governance.DataStatus {
	return governance.DataStatus{
		Scope: governance.ScopeDAO, DAOID: &a.dao.ID, LatestSuccessfulSync: a.sync,
		CoverageStatus: a.coverage, VoteCoverageStatus: a.votes,
	}
}

// globalStatus sums up the status of all DAOs: what all agree on, or that they
// differ.
type globalStatus struct {
	sync     governance.LatestSync
	coverage map[governance.Coverage]int
	votes    map[governance.VoteCoverage]int
}

func newGlobalStatus() globalStatus {
	return globalStatus{coverage: map[governance.Coverage]int{}, votes: map[governance.VoteCoverage]int{}}
}

func (g *globalStatus) add(s governance.DataStatus) {
	g.sync.GovernanceAt = governance.Later(g.sync.GovernanceAt, s.LatestSuccessfulSync.GovernanceAt)
	g.sync.ForumAt = governance.Later(g.sync.ForumAt, s.LatestSuccessfulSync.ForumAt)
	g.coverage[s.CoverageStatus]++
	g.votes[s.VoteCoverageStatus]++
}

func (g *globalStatus) dataStatus() governance.DataStatus {
	return governance.DataStatus{
		Scope: governance.ScopeGlobal, LatestSuccessfulSync: g.sync,
		CoverageStatus: agreed(g.coverage, governance.Backfilling, governance.Partial, governance.CoverageUnavailable),
		VoteCoverageStatus: agreed(g.votes, governance.VotesBackfilling, governance.VotesPartial,
			governance.VotesUnavailable),
	}
}

// agreed returns the one status that all have; unavailable when there are none;
// backfilling when some are; else partial.
func agreed[S comparable](counts map[S]int, backfilling, partial, unavailable S) S {
	switch {
	case len(counts) == 0:
		return unavailable
	case counts[backfilling] > 0:
		return backfilling
	case len(counts) > 1:
		return partial
	}
	for status := range counts {
		return status
	}
	return unavailable
}
