package source_test

import (
	"testing"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

func TestDAOLineListsSources(t *testing.T) {
	t.Parallel()

	checkRecords(t, "DAO", []recordTest{
		{
			"all stated", `{"daoId":"harbor","name":"Harbor DAO","sources":[{"provider":"snapshot","id":"harbor.eth"},{"provider":"discourse","id":"forum.harbor.example"}]}`,
			&record.DAO{ID: "harbor", Name: "Harbor DAO", Sources: []record.SourceRef{
				{Provider: governance.Snapshot, ID: "harbor.eth"},
				{Provider: governance.Discourse, ID: "forum.harbor.example"},
			}},
		},
		{"no name", `{"daoId":"harbor","name":" ","sources":[]}`, &record.DAO{ID: "harbor", Name: "harbor"}},
	})
	checkRejections(t, "DAO", []rejectionTest{
		{"no id", `{"name":"Harbor","sources":[]}`, `daoId is missing; want a string`},
		{"other provider", `{"daoId":"harbor","sources":[{"provider":"aragon","id":"x"}]}`, `sources[0].provider is "aragon"; want one of snapshot, tally, discourse`},
		{"source without an id", `{"daoId":"harbor","sources":[{"provider":"tally"}]}`, `sources[0].id is missing; want a string`},
		{"sources as an object", `{"daoId":"harbor","sources":{}}`, `sources is an object; want an array`},
	})
}
