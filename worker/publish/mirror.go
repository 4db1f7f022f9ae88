package publish

import (
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// mirrors are the proposals of Governors that other providers state too. What a DAO has
// from a Governor itself counts once: its mirrors are not published.
type mirrors struct {
	// of are the mirrors of a Governor's proposal, in the same DAO.
	of map[record.RefHash][]records.Mirror
	// original is the proposal that supersedes a mirror.
	original map[record.RefHash]record.RefHash
}

// newMirrors selects the mirrors that are superseded: the DAO has the proposal of the
// Governor as well, and it is not withdrawn.
func newMirrors(found []records.Mirror, catalog records.Catalog) mirrors {
	m := mirrors{of: map[record.RefHash][]records.Mirror{}, original: map[record.RefHash]record.RefHash{}}
	for _, mirror := range found {
		owner := catalog.OwnerOf(record.SourceRef{Provider: governance.Governor, ID: mirror.Governor})
		if mirror.OriginalWithdrawn || owner != catalog.OwnerOf(record.SourceRef{Provider: mirror.Provider, ID: mirror.SourceID}) {
			continue
		}
		m.of[mirror.Original] = append(m.of[mirror.Original], mirror)
		m.original[mirror.Ref] = mirror.Original
	}
	return m
}

// replaceIn puts originals in the place of superseded mirrors: what a proposal at a third
// provider is compared with.
func (m mirrors) replaceIn(counterparts map[record.RefHash][]record.RefHash) {
	for mirror, original := range m.original {
		for _, other := range counterparts[mirror] {
			counterparts[other] = slices.DeleteFunc(counterparts[other], func(ref record.RefHash) bool { return ref == mirror })
			if other != original && !slices.Contains(counterparts[other], original) {
				counterparts[other] = append(counterparts[other], original)
				counterparts[original] = append(counterparts[original], other)
			}
		}
		delete(counterparts, mirror)
	}
}

// namesOf returns the names that links to a Governor's proposal have because Tally shows it
// too: in the organizations of its DAO under the number on chain, and as its mirrors.
func (m mirrors) namesOf(p records.Proposal, dao records.CatalogDAO) []string {
	var names []string
	for _, mirror := range m.of[p.Ref] {
		names = append(names, mirror.Provider.LinkNames(mirror.SourceID, mirror.ExternalID, mirror.SourceURL)...)
	}
	if p.Provider != governance.Governor {
		return names
	}
	for _, number := range p.Provider.ExternalIDs(p.ExternalID)[1:] {
		for _, source := range dao.Sources {
			if source.Provider == governance.Tally {
				names = append(names, source.Provider.LinkNames(source.ID, number, "")...)
			}
		}
	}
	return names
}
