package importer

import (
	"context"
	"maps"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type sourcesByKind map[record.Kind]map[record.SourceRef]bool

func (s sourcesByKind) add(kind record.Kind, ref record.SourceRef) {
	if s[kind] == nil {
		s[kind] = map[record.SourceRef]bool{}
	}
	s[kind][ref] = true
}

// markSynced records in the warehouse which sources were read completely, and which were not. It must be
// called after all records are written.
func (r *importRun) markSynced(ctx context.Context, marked sourcesByKind, lacks bool) error {
	for kind, sources := range marked {
		if err := r.retry(ctx, func() error {
			return records.MarkSynced(ctx, r.Warehouse, r.run, kind, slices.Collect(maps.Keys(sources)), lacks)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sourceOf returns the source that a record states. Ballots state none: a Governor's
// ballots name neither organization nor DAO.
func sourceOf(r record.Record) (ref record.SourceRef, known bool) {
	switch r := r.(type) {
	case *record.Proposal:
		return record.SourceRef{Provider: r.Provider, ID: r.SourceID}, true
	case *record.Topic:
		return record.SourceRef{Provider: governance.Discourse, ID: r.Host}, true
	}
	return record.SourceRef{}, false
}
