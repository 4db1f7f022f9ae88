package publish

import (
	"time"

	"pnyx/warehouse/pages"
)

// daoClass groups DAOs by ballots, which decide how long publishing takes. It is a label of metrics.
type daoClass string

// Classes of DAOs: fewer than maxSmallDAO ballots, fewer than make a sorted copy, and all others.
const (
	smallDAO  daoClass = "small"
	mediumDAO daoClass = "medium"
	largeDAO  daoClass = "large"
)

// daoClasses lists all classes, so that each has a metric from the start.
func daoClasses() []daoClass { return []daoClass{smallDAO, mediumDAO, largeDAO} }

func daoClassOf(ballots uint64) daoClass {
	const maxSmallDAO = 1000 // the number of ballots from which on a DAO is not small
	switch {
	case ballots < maxSmallDAO:
		return smallDAO
	case ballots < pages.SortedCopyThreshold:
		return mediumDAO
	}
	return largeDAO
}

// laggingDAO is a DAO that keeps previous numbers, with the time up to which batches are in them.
type laggingDAO struct {
	class daoClass
	asOf  time.Time
}

// updateLagging takes over which DAOs lag. Those that did before keep the time of their numbers.
func (t *leaderTerm) updateLagging(in Input, result Result) {
	previous := in.At
	if t.published.CommittedThrough > 0 {
		previous = time.UnixMicro(t.published.CommittedThrough)
	}
	lagging := map[string]laggingDAO{}
	for id := range result.Lagging {
		dao, known := t.laggingDAOs[id]
		if !known {
			dao = laggingDAO{result.Classes[id], previous}
		}
		lagging[id] = dao
	}
	t.lagging, t.laggingDAOs = result.Lagging, lagging
}
