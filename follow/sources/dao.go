package sources

import (
	"errors"
	"fmt"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// NameRecords returns the names of the file as records, and those that it does not have any more withdrawn.
func (f File) NameRecords(held []record.Name) (records []record.Record) {
	stated := map[string]bool{}
	for voter, name := range f.Names {
		r := &record.Name{Voter: governance.VoterIdentity(string(voter)), Source: governance.NameOfFile, Name: string(name)}
		stated[r.Voter], records = true, append(records, r)
	}
	for _, r := range held {
		if !stated[r.Voter] {
			r.Withdrawn = true
			records = append(records, &r)
		}
	}
	return records
}

// Records returns the DAOs of the file as records: each with the sources that it has declared in the warehouse, and the
// file's after them. A source that the warehouse gives to another DAO is left there, and the error says so; the records
// are complete nevertheless.
func (f File) Records(declared records.Catalog) (records []record.Record, conflicts error) {
	for _, dao := range f.DAOs {
		r := &record.DAO{ID: string(dao.ID), Name: string(dao.Name)}
		r.Sources = slices.Clone(declared.DAOs[r.ID].Sources)
		for _, source := range dao.Sources() {
			if owner, owned := declared.Owner[source]; owned && owner != r.ID {
				conflicts = errors.Join(conflicts, fmt.Errorf("%s %s is a source of %s, which an import declared: it stays there",
					source.Provider, source.ID, owner))
			}
			if !slices.Contains(r.Sources, source) {
				r.Sources = append(r.Sources, source)
			}
		}
		for _, token := range dao.Tokens {
			r.Tokens = append(r.Tokens, string(token))
		}
		for _, c := range dao.Contracts {
			r.Contracts = append(r.Contracts, record.Contract{ID: string(c.ID), Name: string(c.Name), Functions: c.functions})
		}
		records = append(records, r)
	}
	return records, conflicts
}
