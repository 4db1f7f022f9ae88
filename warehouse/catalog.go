package warehouse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// Catalog says which sources make up which DAO, and what is held of each.
type Catalog struct {
	// DAOs by id: those declared, and one for every source that none of them claims.
	DAOs map[string]CatalogDAO
	// Owner is the DAO that each known source belongs to.
	Owner map[record.SourceRef]string
	// Sources holds what is known of each source.
	Sources map[record.SourceRef]CatalogSource
	// ObservedAt is when the latest record of all was seen; nil without any sync.
	ObservedAt *governance.Timestamp
}

// CatalogDAO is one DAO of the catalog.
type CatalogDAO struct {
	ID      string
	Name    string
	Sources []record.SourceRef
}

// CatalogSource is what is held of one source.
type CatalogSource struct {
	Name      string
	Proposals uint64
	// Topics counts the visible topics of a forum, and LatestTopicAt is when one of
	// them was last active.
	Topics        uint64
	LatestTopicAt *governance.Timestamp
	// ProposalsSyncedAt, BallotsSyncedAt and TopicsSyncedAt say when upstream was last read to the
	// end; nil for never.
	ProposalsSyncedAt, BallotsSyncedAt, TopicsSyncedAt *governance.Timestamp
}

// HasRecords says whether any record of the source is.
func (s CatalogSource) HasRecords() bool {
	return s.Proposals > 0 || s.Topics > 0
}

// OwnerOf returns the DAO that a source belongs to: one that the catalog does not know
// is a DAO by itself.
func (c Catalog) OwnerOf(source record.SourceRef) string {
	if id, known := c.Owner[source]; known {
		return id
	}
	return source.ID
}

// Forum returns the forum of a host. Each forum numbers its own topics, so the number
// alone identifies a topic only in the first forum that a DAO names; in every other one
// it is prefixed with the host.
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

// Catalog reads the catalog as it is now.
func (w *Warehouse) Catalog(ctx context.Context) (Catalog, error) {
	c := Catalog{
		DAOs:    map[string]CatalogDAO{},
		Owner:   map[record.SourceRef]string{},
		Sources: map[record.SourceRef]CatalogSource{},
	}
	if err := w.readSources(ctx, &c); err != nil {
		return Catalog{}, fmt.Errorf("read sources: %w", err)
	}
	if err := w.readDAOs(ctx, &c); err != nil {
		return Catalog{}, fmt.Errorf("read DAOs: %w", err)
	}
	c.addUnclaimedSources()
	return c, nil
}

func (w *Warehouse) readSources(ctx context.Context, c *Catalog) error {
	rows, err := w.conn.Query(ctx, sqlText("catalog_sources"))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var provider, id string
		var s CatalogSource
		var latest, proposals, ballots, topics *time.Time
		if err := rows.Scan(&provider, &id, &s.Name, &s.Proposals, &s.Topics,
			&latest, &proposals, &ballots, &topics); err != nil {
			return err
		}
		s.LatestTopicAt = timestampOf(latest)
		s.ProposalsSyncedAt, s.BallotsSyncedAt, s.TopicsSyncedAt = timestampOf(proposals), timestampOf(ballots), timestampOf(topics)
		c.Sources[record.SourceRef{Provider: governance.Provider(provider), ID: id}] = s
		for _, at := range []*governance.Timestamp{s.ProposalsSyncedAt, s.BallotsSyncedAt, s.TopicsSyncedAt} {
			c.ObservedAt = governance.Later(c.ObservedAt, at)
		}
	}
	return rows.Err()
}

func (w *Warehouse) readDAOs(ctx context.Context, c *Catalog) error {
	rows, err := w.conn.Query(ctx, sqlText("catalog_daos"))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var dao CatalogDAO
		var providers, ids []string
		if err := rows.Scan(&dao.ID, &dao.Name, &providers, &ids); err != nil {
			return err
		}
		for i := range providers {
			dao.claim(c, record.SourceRef{Provider: governance.Provider(providers[i]), ID: ids[i]})
		}
		c.DAOs[dao.ID] = dao
	}
	return rows.Err()
}

// claim gives a source to the DAO, unless an earlier one (they come in order of
// their ids) has it already: a source belongs to one DAO.
func (d *CatalogDAO) claim(c *Catalog, source record.SourceRef) {
	if _, taken := c.Owner[source]; taken {
		return
	}
	c.Owner[source] = d.ID
	d.Sources = append(d.Sources, source)
}

// addUnclaimedSources makes a DAO of every source that none claims. Where its id is
// taken by a declared DAO it joins that one.
func (c *Catalog) addUnclaimedSources() {
	for _, source := range c.sortedSources() {
		if _, claimed := c.Owner[source]; claimed {
			continue
		}
		dao, exists := c.DAOs[source.ID]
		if !exists {
			dao = CatalogDAO{ID: source.ID, Name: cmp.Or(c.Sources[source].Name, source.ID)}
		}
		dao.Sources = append(dao.Sources, source)
		c.DAOs[dao.ID] = dao
		c.Owner[source] = dao.ID
	}
}

func (c *Catalog) sortedSources() []record.SourceRef {
	sources := make([]record.SourceRef, 0, len(c.Sources))
	for source := range c.Sources {
		sources = append(sources, source)
	}
	slices.SortFunc(sources, func(a, b record.SourceRef) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
	return sources
}

// Empty says whether the warehouse holds neither DAO nor proposal nor topic.
func (w *Warehouse) Empty(ctx context.Context) (bool, error) {
	var held uint64
	if err := w.conn.QueryRow(ctx, sqlText("catalog_count")).Scan(&held); err != nil {
		return false, fmt.Errorf("look whether the warehouse is empty: %w", err)
	}
	return held == 0, nil
}
