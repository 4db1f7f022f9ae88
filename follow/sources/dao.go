package sources

import (
	"errors"
	"fmt"
	"slices"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Records returns the DAOs of the file as records: each with the sources that the warehouse
// knows, in their order, and those of the file after them. A source that the warehouse
// gives to another DAO is left there, and the error says so; the records are complete
// nevertheless.
func (f File) Records(catalog warehouse.Catalog) (records []record.Record, conflicts error) {
	for _, dao := range f.DAOs {
		r := &record.DAO{ID: string(dao.ID), Name: string(dao.Name)}
		r.Sources = slices.Clone(catalog.DAOs[r.ID].Sources)
		for _, source := range dao.Sources() {
			// A source that no DAO claims is a DAO of its own, with its id.
			if owner, owned := catalog.Owner[source]; owned && owner != r.ID && owner != source.ID {
				conflicts = errors.Join(conflicts, fmt.Errorf("%s %s is a source of %s, which an import declared: it stays there",
					source.Provider, source.ID, owner))
			}
			if !slices.Contains(r.Sources, source) {
				r.Sources = append(r.Sources, source)
			}
		}
		records = append(records, r)
	}
	return records, conflicts
}
