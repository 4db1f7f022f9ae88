package warehouse

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// slack is how many more rows of an index are read than are needed, for those that
// turn out to be of an earlier version.
const slack = 20

// ProposalFilter selects from the list; zero fields select all.
type ProposalFilter struct {
	DAOID, Provider, ProposerID string
	Lifecycles, Outcomes        []string
	// From and To, which is exclusive, bound the time that TimeField names. Both are
	// given or neither; proposals without the time are left out then.
	TimeField string
	From, To  *governance.Timestamp
}

// Bands of an order: what is active comes before what is pending, and both go by
// ascending times and keys. All else is one band, which descends.
const (
	bandActive     = 0
	bandPending    = 1
	bandDescending = 2
)

// ListPosition is a place in an order of the list.
type ListPosition struct {
	Band int64
	At   *governance.Timestamp
	Key  governance.ProposalKey
}

// place is the number that ascends within the band; a time that is unknown comes
// last.
func (p ListPosition) place() int64 {
	switch {
	case p.At == nil:
		return math.MaxInt64
	case p.Band == bandDescending:
		return -int64(*p.At)
	}
	return int64(*p.At)
}

// PositionIn returns the proposal's place in an order of the list.
func (p ListedProposal) PositionIn(order string) ListPosition {
	position := ListPosition{Band: bandDescending, Key: p.Key}
	switch order {
	case governance.SortCreated:
		position.At = p.CreatedAt
	case governance.SortEnding:
		position.At = p.EndAt
		if p.Lifecycle == governance.Active {
			position.Band = bandActive
		}
		if p.Lifecycle == governance.Pending {
			position.Band = bandPending
		}
	default:
		position.At = p.UpdatedAt
	}
	return position
}

// placeIn is ListPosition.place in SQL: of a column, in the band that descends or in
// any.
const (
	placeDescending = "if(%[1]s < fromUnixTimestamp64Milli(0, 'UTC'), 9223372036854775807, -toUnixTimestamp64Milli(%[1]s))"
	placeInBand     = "multiIf(%[1]s < fromUnixTimestamp64Milli(0, 'UTC'), 9223372036854775807, " +
		"band = 2, -toUnixTimestamp64Milli(%[1]s), toUnixTimestamp64Milli(%[1]s))"
)

// orderExpressions returns the band and the place of an order, in SQL.
func orderExpressions(order string) (band, place string) {
	switch order {
	case governance.SortCreated:
		return "toInt64(2)", fmt.Sprintf(placeDescending, "created_at")
	case governance.SortEnding:
		return "toInt64(multiIf(lifecycle = 'active', 0, lifecycle = 'pending', 1, 2))", fmt.Sprintf(placeInBand, "end_at")
	}
	return "toInt64(2)", fmt.Sprintf(placeDescending, "updated_at")
}

// timeColumn returns the column of a time field.
func timeColumn(field string) string {
	switch field {
	case governance.FieldCreatedAt:
		return "created_at"
	case governance.FieldStartAt:
		return "start_at"
	case governance.FieldEndAt:
		return "end_at"
	}
	return "updated_at"
}

// ListProposals returns the first limit proposals after a place, or of all when it
// is nil, that a filter lets through.
func (w *Warehouse) ListProposals(
	ctx context.Context, f ProposalFilter, order string, after *ListPosition, limit int,
) ([]ListedProposal, error) {
	begin := versionAt{}
	if after != nil {
		begin = versionAt{key: after.Key, band: after.Band, place: after.place()}
	}
	next := func(last *versionAt, limit int) ([]versionAt, error) {
		if last == nil {
			last = &begin
		}
		return w.versionPage(ctx, f, order, *last, limit)
	}
	return currentRows(ctx, w, limit, next, func(v versionAt, p ListedProposal) bool { return v.revision == p.Revision })
}

// versionAt is a version of a proposal in an order of the list, maybe not the
// current one.
type versionAt struct {
	ref         record.RefHash
	key         governance.ProposalKey
	revision    uint64
	band, place int64
}

func (v versionAt) proposal() record.RefHash { return v.ref }

func (w *Warehouse) versionPage(
	ctx context.Context, f ProposalFilter, order string, after versionAt, limit int,
) ([]versionAt, error) {
	band, place := orderExpressions(order)
	column := timeColumn(f.TimeField)
	from, to := int64(0), int64(0)
	if f.From != nil && f.To != nil {
		from, to = int64(*f.From), int64(*f.To)
	}
	rows, err := w.conn.Query(ctx, fmt.Sprintf(query("proposal_page"), band, place, column, column),
		clickhouse.Named("dao", f.DAOID), clickhouse.Named("provider", f.Provider),
		clickhouse.Named("proposer", f.ProposerID),
		clickhouse.Named("lifecycles", strings.Join(f.Lifecycles, ",")),
		clickhouse.Named("outcomes", strings.Join(f.Outcomes, ",")),
		clickhouse.Named("has_window", boolNumber(f.From != nil && f.To != nil)),
		clickhouse.Named("from", from), clickhouse.Named("to", to),
		clickhouse.Named("after_band", after.band), clickhouse.Named("after_place", after.place),
		clickhouse.Named("after_key", string(after.key)), clickhouse.Named("after_revision", after.revision),
		clickhouse.Named("limit", limit))
	if err != nil {
		return nil, fmt.Errorf("read a page of proposals: %w", err)
	}
	defer rows.Close()
	var page []versionAt
	for rows.Next() {
		var v versionAt
		var ref, key string
		if err := rows.Scan(&ref, &key, &v.revision, &v.band, &v.place); err != nil {
			return nil, fmt.Errorf("read a page of proposals: %w", err)
		}
		v.ref, v.key = record.RefHash([]byte(ref)), governance.ProposalKey(key)
		page = append(page, v)
	}
	return page, rows.Err()
}

// FirstProposals returns the first limit proposals of each DAO in the order by
// update. A DAO is missing for which another look would be needed.
func (w *Warehouse) FirstProposals(
	ctx context.Context, daoIDs []string, limit int,
) (map[string][]ListedProposal, error) {
	versions, refs, err := w.firstVersions(ctx, daoIDs, limit+slack)
	if err != nil {
		return nil, err
	}
	current, err := w.listed(ctx, refs)
	if err != nil {
		return nil, err
	}
	found := map[string][]ListedProposal{}
	for daoID, candidates := range versions {
		var rows []ListedProposal
		for _, v := range candidates {
			if p := current[v.ref]; p.Revision == v.revision && len(rows) < limit {
				rows = append(rows, p)
			}
		}
		if len(rows) == limit || len(candidates) < limit+slack {
			found[daoID] = rows
		}
	}
	return found, nil
}

func (w *Warehouse) firstVersions(
	ctx context.Context, daoIDs []string, limit int,
) (versions map[string][]versionAt, refs []record.RefHash, err error) {
	rows, err := w.queryDAOs(ctx, query("first_proposals"), daoIDs, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("read first proposals: %w", err)
	}
	defer rows.Close()
	versions = map[string][]versionAt{}
	for rows.Next() {
		var daoID, ref string
		var v versionAt
		if err := rows.Scan(&daoID, &ref, &v.revision); err != nil {
			return nil, nil, fmt.Errorf("read first proposals: %w", err)
		}
		v.ref = record.RefHash([]byte(ref))
		versions[daoID], refs = append(versions[daoID], v), append(refs, v.ref)
	}
	return versions, refs, rows.Err()
}

// indexed is an entry of an index: it leads to a proposal.
type indexed interface{ proposal() record.RefHash }

// currentRows follows an index, in its order, to the current rows of proposals,
// until there are limit that it still holds for. The next entries are asked for by
// the last one of those before, nil at the beginning.
func currentRows[E indexed](
	ctx context.Context, w *Warehouse, limit int,
	next func(after *E, limit int) ([]E, error), holds func(E, ListedProposal) bool,
) ([]ListedProposal, error) {
	var found []ListedProposal
	seen := map[record.RefHash]bool{}
	for after := (*E)(nil); ; {
		most := limit - len(found) + slack
		entries, err := next(after, most)
		if err != nil {
			return nil, err
		}
		refs := make([]record.RefHash, len(entries))
		for i, entry := range entries {
			refs[i] = entry.proposal()
		}
		rows, err := w.listed(ctx, refs)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			row, there := rows[entry.proposal()]
			if !there || seen[row.Ref] || !holds(entry, row) {
				continue
			}
			seen[row.Ref] = true
			if found = append(found, row); len(found) == limit {
				return found, nil
			}
		}
		if len(entries) < most {
			return found, nil
		}
		after = &entries[len(entries)-1]
	}
}
