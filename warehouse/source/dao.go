package source

import (
	"cmp"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// readDAO reads the sources of a DAO. The name defaults to the id.
func readDAO(in object) record.Record {
	id := in.get("daoId").identifier()
	dao := &record.DAO{ID: id, Name: cmp.Or(in.get("name").text(), id)}
	for source := range in.get("sources").objects() {
		dao.Sources = append(dao.Sources, record.SourceRef{
			Provider: oneOf(source.get("provider"), governance.Snapshot, governance.Tally, governance.Discourse),
			ID:       source.get("id").identifier(),
		})
	}
	return dao
}
