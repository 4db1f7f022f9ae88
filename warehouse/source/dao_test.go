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
		{
			"a Governor in any case", `{"daoId":"harbor","sources":[{"provider":"governor","id":"eip155:1:0x21DF544947ba3E8b3c32561399E88B52Dc8b28aA"}]}`,
			&record.DAO{ID: "harbor", Name: "harbor", Sources: []record.SourceRef{
				{Provider: governance.Governor, ID: "eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"},
			}},
		},
		{"no name", `{"daoId":"harbor","name":" ","sources":[]}`, &record.DAO{ID: "harbor", Name: "harbor"}},
	})
	checkRejections(t, "DAO", []rejectionTest{
		{"no id", `{"name":"Harbor","sources":[]}`, `daoId is missing; want a string`},
		{"other provider", `{"daoId":"harbor","sources":[{"provider":"aragon","id":"x"}]}`, `sources[0].provider is "aragon"; want one of snapshot, tally, governor, discourse`},
		{"a Governor without a chain", `{"daoId":"harbor","sources":[{"provider":"governor","id":"0x1"}]}`, `sources[0].id is "0x1"; want eip155:<chain>:<address>`},
		{"source without an id", `{"daoId":"harbor","sources":[{"provider":"tally"}]}`, `sources[0].id is missing; want a string`},
		{"sources as an object", `{"daoId":"harbor","sources":{}}`, `sources is an object; want an array`},
	})
}
