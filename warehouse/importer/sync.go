package importer

import (
	"context"
	"maps"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// sourcesByKind holds sources of which records of a kind were read.
type sourcesByKind map[record.Kind]map[record.SourceRef]bool

func (s sourcesByKind) add(kind record.Kind, ref record.SourceRef) {
	if s[kind] == nil {
		s[kind] = map[record.SourceRef]bool{}
	}
	s[kind][ref] = true
}

func (s sourcesByKind) merge(others sourcesByKind) {
	for kind, refs := range others {
		for ref := range refs {
			s.add(kind, ref)
		}
	}
}

// markSynced notes, when all is imported, which sources were read to their end.
func (r *importRun) markSynced(ctx context.Context) error {
	for kind, sources := range r.synced {
		refs := slices.Collect(maps.Keys(sources))
		if err := r.retry(ctx, func() error { return r.Warehouse.MarkSynced(ctx, r.run, kind, refs) }); err != nil {
			return err
		}
	}
	return nil
}

// sourceOf returns the source whose records of this kind a file holds, where a
// record tells. A Governor's ballots name neither organization nor DAO.
func sourceOf(r record.Record) (ref record.SourceRef, known bool) {
	switch r := r.(type) {
	case *record.Proposal:
		return record.SourceRef{Provider: r.Provider, ID: r.SourceID}, true
	case *record.Topic:
		return record.SourceRef{Provider: governance.Discourse, ID: r.Host}, true
	}
	return record.SourceRef{}, false
}

// textBytes estimates the memory that a record's texts take, in bytes.
func textBytes(r record.Record) int {
	switch r := r.(type) {
	case *record.Proposal:
		return len(r.Body) + len(r.Title)
	case *record.Topic:
		return len(r.BodyHTML) + len(r.Title)
	case *record.Ballot:
		return len(r.Reason) + len(r.RawChoice)
	case *record.Evidence:
		return len(r.Dossier)
	}
	return 0
}
