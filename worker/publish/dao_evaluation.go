package publish

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type daoEvaluation struct {
	dao records.CatalogDAO
	// totals are sums over states of proposals, and participation is counted from ballots.
	totals        counts.DAOTotals
	participation counts.Participation
	// withheld is set when totals and participation do not match and no previous numbers exist.
	withheld bool
	// topics counts the visible forum topics, and forumAt is the latest activity in one.
	topics  uint64
	forumAt *governance.Timestamp
	// status is the data status. imported states as of when imported files are.
	status      governance.DataStatus
	imported    governance.LatestSync
	sourceTypes []governance.Provider
	flagged     bool
}

// evaluateDAO computes a DAO from sums over its proposals and from its sources. The caller adds participation.
func evaluateDAO(dao records.CatalogDAO, catalog records.Catalog, totals counts.DAOTotals) daoEvaluation {
	e := daoEvaluation{dao: dao, totals: totals, sourceTypes: []governance.Provider{}, status: governance.DataStatus{
		Scope: governance.ScopeDAO, DAOID: &dao.ID,
		CoverageStatus: daoCoverage(dao, catalog), VoteCoverageStatus: daoVoteCoverage(totals),
	}}
	var voted, flagged int
	for _, ref := range dao.Sources {
		source := catalog.Sources[ref]
		if !ref.Provider.IsForum() {
			voted++
		}
		if source.Flagged {
			flagged++
		}
		e.topics += source.Topics
		e.forumAt = governance.Later(e.forumAt, source.LatestTopicAt)
		e.addSource(ref, source)
		e.sourceTypes = append(e.sourceTypes, ref.Provider)
	}
	// An import is no sync: what follows upstream says more.
	sync := &e.status.LatestSuccessfulSync
	sync.GovernanceAt = cmp.Or(sync.GovernanceAt, e.imported.GovernanceAt)
	sync.ForumAt = cmp.Or(sync.ForumAt, e.imported.ForumAt)
	slices.Sort(e.sourceTypes)
	e.sourceTypes = slices.Compact(e.sourceTypes)
	e.flagged = voted > 0 && flagged == voted
	return e
}

// addSource adds how following a source goes, and how new its records are: as of when all that upstream had was
// read, or the import states, or else of the newest record.
func (e *daoEvaluation) addSource(ref record.SourceRef, source records.CatalogSource) {
	status := governance.SourceStatus{State: governance.SourceImported, SourceType: ref.Provider, SourceID: ref.ID}
	if source.Follow != nil {
		status = source.Follow.Status
	}
	newest := governance.Later(source.NewestRecordAt, source.NewestBallotAt)
	status.Provider, status.ID, status.Mode, status.NewestRecordAt = ref.Provider, ref.ID, governance.ModeImported, newest
	if isFollowed(source) {
		status.Mode = governance.ModeFollowed
	}
	read := source.Proposals+source.Topics > 0 || isSynced(ref, source)
	if source.Follow != nil || read {
		e.status.Sources = append(e.status.Sources, status)
	}
	asOf, sync := cmp.Or(source.AsOf, newest), &e.status.LatestSuccessfulSync
	switch {
	case source.Follow != nil && source.Follow.Complete && ref.Provider.IsForum():
		sync.ForumAt = governance.Later(sync.ForumAt, status.ReadThroughAt)
	case source.Follow != nil && source.Follow.Complete:
		sync.GovernanceAt = governance.Later(sync.GovernanceAt, status.ReadThroughAt)
	case source.TopicsSyncedAt != nil:
		e.imported.ForumAt = governance.Later(e.imported.ForumAt, asOf)
	case source.ProposalsSyncedAt != nil || source.BallotsSyncedAt != nil:
		e.imported.GovernanceAt = governance.Later(e.imported.GovernanceAt, asOf)
	}
}

// daoCoverage is Complete when every source was read to its end and all it states is held, Backfilling when a
// source that never was has records or is followed, Partial when some sources lack records, or upstream does not
// have them.
func daoCoverage(dao records.CatalogDAO, catalog records.Catalog) governance.Coverage {
	var synced, begun int
	whole := true
	for _, ref := range dao.Sources {
		source := catalog.Sources[ref]
		switch {
		case isSynced(ref, source):
			synced++
			whole = whole && isWhole(source)
		case source.Follow != nil && source.Follow.Status.State == governance.SourceMissing: // no more of it is on its way
		case source.Proposals > 0, source.Topics > 0, isFollowed(source):
			begun++
		}
	}
	switch {
	case whole && len(dao.Sources) > 0 && synced == len(dao.Sources):
		return governance.Complete
	case begun > 0:
		return governance.Backfilling
	case synced > 0:
		return governance.Partial
	}
	return governance.CoverageUnavailable
}

// isWhole reports whether nothing is known that a source states and that is not held.
func isWhole(source records.CatalogSource) bool {
	if isFollowed(source) {
		return source.Follow.Lacks == ""
	}
	return !source.Lacks
}

func isFollowed(source records.CatalogSource) bool {
	return source.Follow != nil && source.Follow.Status.State != governance.SourceOff
}

// isSynced reports whether a source was read to its end: where it is followed, all of its past.
func isSynced(ref record.SourceRef, source records.CatalogSource) bool {
	if isFollowed(source) {
		return source.Follow.Complete
	}
	if ref.Provider.IsForum() {
		return source.TopicsSyncedAt != nil
	}
	return source.ProposalsSyncedAt != nil
}

// daoVoteCoverage is ready when each proposal that has started has all its ballots, unavailable when none has any.
func daoVoteCoverage(t counts.DAOTotals) governance.VoteCoverage {
	switch {
	case t.Counts.Total == 0, t.Started > 0 && t.Ready == 0:
		return governance.VotesUnavailable
	case t.Covered == t.Started:
		return governance.VotesReady
	}
	return governance.VotesPartial
}

func (e daoEvaluation) balance() error {
	if e.totals.Votes != e.participation.Votes {
		return fmt.Errorf("%w: DAO %s has %d votes over proposals, %d over ballots", errUnbalanced,
			e.dao.ID, e.totals.Votes, e.participation.Votes)
	}
	return nil
}

func (e daoEvaluation) listItem() governance.DAOListItem {
	return governance.DAOListItem{
		DAOID:              e.dao.ID,
		Name:               e.dao.Name,
		Flagged:            e.flagged,
		HasVoteData:        e.totals.Votes > 0,
		HasForumData:       e.topics > 0,
		CoverageStatus:     e.status.CoverageStatus,
		VoteCoverageStatus: e.status.VoteCoverageStatus,
		ProposalCounts: governance.ListCounts{
			Total: e.totals.Counts.Total, Active: e.totals.Counts.Active,
		},
		LatestActivity: governance.LatestActivity{
			ProposalAt: e.totals.CreatedAt, VoteAt: e.totals.VotedAt, ForumAt: e.forumAt,
		},
	}
}

func (e daoEvaluation) detail() governance.DAODetail {
	return governance.DAODetail{
		DAOID:              e.dao.ID,
		Name:               e.dao.Name,
		Flagged:            e.flagged,
		CoverageStatus:     e.status.CoverageStatus,
		VoteCoverageStatus: e.status.VoteCoverageStatus,
		ProposalCounts:     e.totals.Counts,
		Outcomes:           e.totals.Outcomes,
		Participation: governance.Participation{
			UniqueVoters:     governance.CountOf(e.participation.UniqueVoters),
			TotalVotes:       governance.CountOf(e.participation.Votes),
			TotalVotingPower: governance.DecimalOf(e.totals.Power),
		},
		SourceTypes: e.sourceTypes,
	}
}

// globalStatus returns the data status of all DAOs together. It counts the followed sources.
func globalStatus(daos []governance.DataStatus) governance.DataStatus {
	var sync governance.LatestSync
	coverage, votes := map[governance.Coverage]int{}, map[governance.VoteCoverage]int{} // how many DAOs have each
	states := map[governance.SourceState]uint64{}
	for _, s := range daos {
		sync.GovernanceAt = governance.Later(sync.GovernanceAt, s.LatestSuccessfulSync.GovernanceAt)
		sync.ForumAt = governance.Later(sync.ForumAt, s.LatestSuccessfulSync.ForumAt)
		coverage[s.CoverageStatus]++
		votes[s.VoteCoverageStatus]++
		for _, source := range s.Sources {
			states[source.State]++
		}
	}
	var counts []governance.SourceCount
	for _, state := range governance.SourceStates() {
		if n := states[state]; n > 0 && state != governance.SourceImported {
			counts = append(counts, governance.SourceCount{State: state, Sources: n})
		}
	}
	return governance.DataStatus{
		Scope: governance.ScopeGlobal, LatestSuccessfulSync: sync, SourceCounts: counts,
		CoverageStatus:     agreed(coverage, governance.Backfilling, governance.Partial, governance.CoverageUnavailable),
		VoteCoverageStatus: agreed(votes, governance.VotesBackfilling, governance.VotesPartial, governance.VotesUnavailable),
	}
}

// agreed returns the status that all DAOs have: unavailable without DAOs, backfilling if some are, else partial.
func agreed[S comparable](counts map[S]int, backfilling, partial, unavailable S) S {
	switch {
	case len(counts) == 0:
		return unavailable
	case counts[backfilling] > 0:
		return backfilling
	case len(counts) > 1:
		return partial
	}
	return slices.Collect(maps.Keys(counts))[0] // the only one
}

func (e daoEvaluation) timelines() []governance.Timeline {
	return []governance.Timeline{
		{DAOID: e.dao.ID, Metric: governance.ProposalsCreated, Buckets: buckets(e.totals.CreatedIn), Undated: governance.CountOf(e.totals.Uncreated)},
		{DAOID: e.dao.ID, Metric: governance.VotesCast, Buckets: buckets(e.totals.VotedIn), Undated: governance.CountOf(e.totals.Undated)},
	}
}

func buckets(counts map[counts.Month]uint64) []governance.TimelineBucket {
	filled := []governance.TimelineBucket{}
	if len(counts) == 0 {
		return filled
	}
	months := slices.Sorted(maps.Keys(counts))
	for month := months[0]; month <= months[len(months)-1]; month = next(month) {
		filled = append(filled, governance.TimelineBucket{
			Month: fmt.Sprintf("%04d-%02d", month/100, month%100),
			Value: governance.CountOf(counts[month]),
		})
	}
	return filled
}

// next returns the following month; months are numbers like 202601.
func next(month counts.Month) counts.Month {
	if month%100 == 12 {
		return month + 100 - 11
	}
	return month + 1
}
