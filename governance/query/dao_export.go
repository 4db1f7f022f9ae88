package query

import "pnyx/governance"

// DAOPartRows is the maximum number of rows of a part of an export of a DAO.
const DAOPartRows = 50_000

// DAOExport asks which parts a DAO is exported in. Time and publications make the answer stale.
type DAOExport struct {
	DAOID string `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`
	Since int    `param:"since" min:"1" max:"9007199254740991" doc:"Only what changed since the revision of an earlier manifest, at most seven days ago." example:"1790000000000000"`
}

// Kind implements Page.
func (DAOExport) Kind() Kind { return KindDAOExport }

// DAOPart selects one part of an export of a DAO. It never becomes stale: the digest names its rows.
type DAOPart struct {
	DAOID  string                  `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`
	Digest string                  `param:"part" in:"path" doc:"The digest of the part." example:"Yb7hX0q2mC4dPz9sK1vTqw"`
	Since  int                     `param:"since" min:"1" max:"9007199254740991" doc:"The same as for the manifest." example:"1790000000000000"`
	Format governance.ExportFormat `param:"format" default:"ndjson" doc:"The format of the rows." example:"parquet"`
}

// Kind implements Page.
func (DAOPart) Kind() Kind { return KindDAOPart }
