package records

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Catalog maps sources to DAOs and describes the records of each source.
type Catalog struct {
	// DAOs has the declared DAOs by id, and one for every source that none of them claims.
	DAOs    map[string]CatalogDAO
	Owner   map[record.SourceRef]string
	Sources map[record.SourceRef]CatalogSource
}

// CatalogDAO is one DAO of the catalog.
type CatalogDAO struct {
	ID string
	// Name is the declared name, or else the name of its only source.
	Name string
	// Sources are those that it claims, in the order of its declaration.
	Sources []record.SourceRef
	// Contracts is the version of its record if that names contracts, else 0.
	Contracts uint64
}

// CatalogSource describes the records of one source.
type CatalogSource struct {
	Name    string
	Flagged bool
	// ProposalsSyncedAt, BallotsSyncedAt and TopicsSyncedAt are the starts of the last imports that read upstream to
	// its end; nil for never.
	ProposalsSyncedAt, BallotsSyncedAt, TopicsSyncedAt *governance.Timestamp
	// FirstImportEndedAt is when the first import of its proposals ended; nil for never.
	FirstImportEndedAt *governance.Timestamp
	// Lacks is true if the last import lacked records.
	Lacks bool
	// AsOf is the time that the last import states that lacked no records; nil where it states none.
	AsOf *governance.Timestamp
	// Follow says how following the source goes; nil for one that is not followed.
	Follow *SourceFollow
	// Proposals counts its proposals, Topics the visible topics of a forum. These and what follows are zero
	// without WithRecords.
	Proposals, Topics uint64
	// LatestTopicAt is the time of the last activity in a visible topic.
	LatestTopicAt *governance.Timestamp
	// NewestRecordAt is the newest past time at which a proposal or topic was created or updated,
	// and NewestBallotAt that at which a published ballot was cast; nil where none is known.
	NewestRecordAt, NewestBallotAt *governance.Timestamp
}

// OwnerOf returns the id of the DAO that a source belongs to. A source that the catalog
// does not know is a DAO of its own, and one without a provider is the DAO itself.
func (c Catalog) OwnerOf(source record.SourceRef) string {
	if id, known := c.Owner[source]; known {
		return id
	}
	if source.Provider == "" {
		return source.ID
	}
	return c.ownID(source)
}

// ownID returns the id of the DAO that a source is by itself: its own, or with the provider
// where another DAO has that one. Equal ids do not make a source part of a DAO.
func (c Catalog) ownID(source record.SourceRef) string {
	id := source.ID
	for _, taken := c.DAOs[id]; taken; _, taken = c.DAOs[id] {
		id = string(source.Provider) + ":" + id
	}
	return id
}

// Forum returns the forum of a host. Forums number their own topics: the number alone identifies a topic in the
// first forum that a DAO names, and with the host before it in every other one.
func (c Catalog) Forum(host string) Forum {
	source := record.SourceRef{Provider: governance.Discourse, ID: host}
	f := Forum{Host: host, DAOID: c.OwnerOf(source)}
	for _, of := range c.DAOs[f.DAOID].Sources {
		if of == source {
			return f
		}
		if of.Provider.IsForum() {
			f.IDPrefix = host + "/"
		}
	}
	return f
}

// SetFollows sets how following each known source goes. It adds the followed sources that a DAO claims and that
// have no record yet.
func (c *Catalog) SetFollows(follows map[record.SourceRef]SourceFollow) {
	for ref := range follows {
		_, claimed := c.Owner[ref]
		if _, known := c.Sources[ref]; claimed && !known {
			c.Sources[ref] = CatalogSource{}
		}
	}
	for ref, source := range c.Sources {
		source.Follow = nil
		if follow, followed := follows[ref]; followed {
			source.Follow = &follow
		}
		c.Sources[ref] = source
	}
}

// ReadCatalog reads the catalog but for the records of its sources, which WithRecords adds.
func ReadCatalog(ctx context.Context, w *warehouse.Warehouse) (Catalog, error) {
	c, err := CatalogOwners(ctx, w)
	if err != nil {
		return Catalog{}, err
	}
	follows, err := SourceFollows(ctx, w, time.Now())
	c.SetFollows(follows)
	return c, err
}

// DeclaredDAOs reads the part of the catalog that DAOs declare: no unclaimed sources, and nothing of Sources.
func DeclaredDAOs(ctx context.Context, w *warehouse.Warehouse) (Catalog, error) {
	type row struct {
		DAOID, Name     string
		SourceProviders []string
		SourceIDs       []string `ch:"source_ids"`
		Contracts       uint64
	}
	rows, err := warehouse.Find[row](ctx, w, "read DAOs", sqlText("catalog_daos"))
	c := Catalog{DAOs: map[string]CatalogDAO{}, Owner: map[record.SourceRef]string{}}
	for _, r := range rows {
		dao := CatalogDAO{ID: r.DAOID, Name: r.Name, Contracts: r.Contracts}
		for _, source := range joinRefs(r.SourceProviders, r.SourceIDs) {
			// A source belongs to one DAO: the first in order of ids that has it.
			if _, taken := c.Owner[source]; !taken {
				c.Owner[source], dao.Sources = dao.ID, append(dao.Sources, source)
			}
		}
		c.DAOs[dao.ID] = dao
	}
	return c, err
}

// CatalogOwners reads the DAOs and whose each source is, but not how following goes.
func CatalogOwners(ctx context.Context, w *warehouse.Warehouse) (Catalog, error) {
	// First the sources: the DAO of a source is written before it, and would seem to be missing otherwise.
	found, err := warehouse.FindBy[record.SourceRef, CatalogSource](ctx, w, "read sources", sqlText("catalog_sources"))
	if err != nil {
		return Catalog{}, err
	}
	c, err := DeclaredDAOs(ctx, w)
	c.Sources = found
	c.addUnclaimedSources()
	return c, err
}

// WithRecords returns the catalog with what is stored by now of the records of its sources, published ballots alone.
func WithRecords(ctx context.Context, w *warehouse.Warehouse, c Catalog) (Catalog, error) {
	c.Sources = maps.Clone(c.Sources)
	found, err := warehouse.FindBy[record.SourceRef, CatalogSource](ctx, w, "read what sources have",
		sqlText("catalog_records"))
	for ref, has := range found {
		if source, known := c.Sources[ref]; known {
			source.Proposals, source.Topics, source.LatestTopicAt = has.Proposals, has.Topics, has.LatestTopicAt
			source.NewestRecordAt, source.NewestBallotAt = has.NewestRecordAt, has.NewestBallotAt
			c.Sources[ref] = source
		}
	}
	return c, err
}

// addUnclaimedSources adds a DAO for every source that no DAO claims.
func (c *Catalog) addUnclaimedSources() {
	sorted := slices.SortedFunc(maps.Keys(c.Sources), func(a, b record.SourceRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
	for _, source := range sorted {
		if _, claimed := c.Owner[source]; claimed {
			continue
		}
		id := c.ownID(source)
		c.DAOs[id] = CatalogDAO{ID: id, Name: cmp.Or(c.Sources[source].Name, source.ID), Sources: []record.SourceRef{source}}
		c.Owner[source] = id
	}
}

// Empty reports whether the warehouse has neither DAOs nor proposals nor topics.
func Empty(ctx context.Context, w *warehouse.Warehouse) (bool, error) {
	count, err := warehouse.FindValue[uint64](ctx, w, "count the records of the warehouse", sqlText("catalog_count"))
	return count == 0, err
}

// Synced reports whether an import has ever read a source completely.
func Synced(ctx context.Context, w *warehouse.Warehouse) (bool, error) {
	count, err := warehouse.FindValue[uint64](ctx, w, "count the synced sources", sqlText("catalog_synced"))
	return count > 0, err
}
