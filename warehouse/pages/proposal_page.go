package pages

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// staleRowMargin is how many rows of an index are read beyond those needed: some may be outdated.
const staleRowMargin = 20

// Bands of an order. Active proposals come before pending ones, and both are sorted by
// time and key, ascending. All other proposals are in one band, sorted descending.
const (
	bandActive     = 0
	bandPending    = 1
	bandDescending = 2
)

// PositionIn returns the proposal's position in an order of the list.
func (p ListedProposal) PositionIn(order query.ProposalOrder) query.ProposalPosition {
	position := query.ProposalPosition{Band: bandDescending, Key: p.Key}
	switch order {
	case query.ProposalsByCreation:
		position.At = p.CreatedAt
	case query.ProposalsEnded:
		position.At = p.EndAt
	case query.ProposalsEndingSoon:
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

// orderSegment is a part of an order whose rows are contiguous in one projection. They
// are sorted by a time and then by the key, both descending or both ascending.
type orderSegment struct {
	band      int64
	column    string
	ascending bool
	// lifecycle is the lifecycle of all rows; empty if rows may have any lifecycle.
	lifecycle governance.Lifecycle
	// untimed is true if an ascending segment has the rows without a time, and false if
	// it has the rows with one. A descending segment has both.
	untimed bool
}

func orderSegments(order query.ProposalOrder) []orderSegment {
	switch order {
	case query.ProposalsByUpdate:
	case query.ProposalsByCreation:
		return []orderSegment{{band: bandDescending, column: "created_at"}}
	case query.ProposalsEnded:
		return []orderSegment{{band: bandDescending, column: "end_at", lifecycle: governance.Closed}}
	case query.ProposalsEndingSoon:
		return []orderSegment{
			{band: bandActive, column: "end_at", ascending: true, lifecycle: governance.Active},
			{band: bandActive, column: "end_at", ascending: true, lifecycle: governance.Active, untimed: true},
			{band: bandPending, column: "end_at", ascending: true, lifecycle: governance.Pending},
			{band: bandPending, column: "end_at", ascending: true, lifecycle: governance.Pending, untimed: true},
			{band: bandDescending, column: "end_at", lifecycle: governance.Closed},
		}
	}
	return []orderSegment{{band: bandDescending, column: "updated_at"}}
}

func (s orderSegment) holds(p query.ProposalPosition) bool {
	return s.band == p.Band && (!s.ascending || s.untimed == (p.At == nil))
}

// mayMatch reports whether a filter may select rows of the segment.
func (s orderSegment) mayMatch(q query.Proposals) bool {
	return s.lifecycle == "" || len(q.Lifecycles) == 0 || slices.Contains(q.Lifecycles, s.lifecycle)
}

// order returns the columns by which the segment is sorted, in SQL.
func (s orderSegment) order() string {
	direction := " DESC"
	if s.ascending {
		direction = ""
	}
	return s.column + direction + ", proposal_key" + direction + ", revision" + direction
}

// conditions selects the rows of the segment after a version; nil selects all rows.
func (s orderSegment) conditions(after *listVersion) selection {
	var c selection
	if s.lifecycle != "" {
		c.add("lifecycle = {band:String}", clickhouse.Named("band", string(s.lifecycle)))
	}
	if s.ascending {
		comparison := " != "
		if s.untimed {
			comparison = " = "
		}
		c.add(s.column+comparison+warehouse.UnknownTimeSQL, warehouse.BindUnknownTime())
	}
	if after != nil {
		beyond := "<"
		if s.ascending {
			beyond = ">"
		}
		// ClickHouse finds the position by the key of the projection with this form of
		// the condition, but not with a comparison of tuples.
		c.add(fmt.Sprintf("(%[1]s %[2]s %[3]s OR %[1]s = %[3]s AND (proposal_key %[2]s {after_key:String} "+
			"OR proposal_key = {after_key:String} AND revision %[2]s {after_revision:UInt64}))",
			s.column, beyond, "fromUnixTimestamp64Milli({after:Int64}, 'UTC')"),
			clickhouse.Named("after", warehouse.TimeOrUnknown(after.at).UnixMilli()),
			clickhouse.Named("after_key", string(after.key)), clickhouse.Named("after_revision", after.revision))
	}
	return c
}

// selection is a list of SQL conditions, all of which must hold, with their bound values.
type selection struct {
	conditions []string
	args       []any
}

func (s *selection) add(condition string, args ...any) {
	s.conditions, s.args = append(s.conditions, condition), append(s.args, args...)
}

// addProposals selects what a filter selects, by columns that sql/proposal_page_set.sql has too.
func (s *selection) addProposals(q query.Proposals) {
	s.addEqual("dao_id", q.DAOID)
	s.addEqual("provider", q.Provider)
	s.addEqual("proposer_id", string(q.Proposer))
	s.addAmong("lifecycle", warehouse.NonNilTexts(q.Lifecycles))
	s.addAmong("outcome", warehouse.NonNilTexts(q.Outcomes))
	if q.Title != "" {
		// Titles of before are in the index, too: see isTitled.
		s.add("proposal_ref GLOBAL IN (SELECT proposal_ref FROM proposal_titles WHERE position(title, {text:String}) > 0)",
			clickhouse.Named("text", q.Title))
	}
	if q.Flagged == nil {
		s.add("NOT flagged")
	}
	if q.From != nil && q.To != nil {
		s.add(fmt.Sprintf("%[1]s >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND %[1]s < fromUnixTimestamp64Milli({to:Int64}, 'UTC')",
			timeColumn(q.Time)), clickhouse.Named("from", int64(*q.From)), clickhouse.Named("to", int64(*q.To)))
	}
}

// addEqual requires a column to have a value; an empty value adds no condition.
func (s *selection) addEqual(column, value string) {
	if value != "" {
		s.add(fmt.Sprintf("%[1]s = {%[1]s:String}", column), clickhouse.Named(column, value))
	}
}

func (s *selection) addAmong(column string, values []string) {
	if len(values) > 0 {
		s.add(fmt.Sprintf("has({%[1]s:Array(String)}, toString(%[1]s))", column), clickhouse.Named(column, values))
	}
}

func timeColumn(name query.ProposalTime) string {
	columns := map[query.ProposalTime]string{
		query.ProposalCreatedAt: "created_at", query.ProposalStartAt: "start_at", query.ProposalEndAt: "end_at",
	}
	return cmp.Or(columns[name], "updated_at")
}

// listVersion is a position in a segment, directly after a version of a proposal. With
// the last revision in the direction of the segment (0 if it descends, math.MaxUint64 if
// it ascends) it is after all versions of the proposal.
type listVersion struct {
	at       *governance.Timestamp
	key      governance.ProposalKey
	revision uint64
}

// ListProposals returns the first q.Limit proposals after q.After that q selects.
func ListProposals(ctx context.Context, w *warehouse.Warehouse, q query.Proposals) ([]ListedProposal, error) {
	parts := orderSegments(q.Order)
	var begin *listVersion
	if q.After != nil {
		parts = parts[max(0, slices.IndexFunc(parts, func(s orderSegment) bool { return s.holds(*q.After) })):]
		begin = &listVersion{at: q.After.At, key: q.After.Key}
		if parts[0].ascending {
			begin.revision = math.MaxUint64
		}
	}
	var found []ListedProposal
	for _, part := range parts {
		if part.mayMatch(q) && len(found) < q.Limit {
			rows, err := listSegment(ctx, w, q, part, begin, q.Limit-len(found))
			if err != nil {
				return nil, fmt.Errorf("read a page of proposals: %w", err)
			}
			found = append(found, rows...)
		}
		begin = nil
	}
	return found, nil
}

func isTitled(row ListedProposal, text string) bool {
	return text == "" || strings.Contains(governance.NormalizeTitle(row.Title), text)
}

// listSegment returns the first limit current rows of a segment.
func listSegment(
	ctx context.Context, w *warehouse.Warehouse, q query.Proposals, part orderSegment, after *listVersion, limit int,
) ([]ListedProposal, error) {
	var found []ListedProposal
	for {
		most := limit - len(found) + staleRowMargin
		read, err := listVersions(ctx, w, q, part, after, most)
		if err != nil {
			return nil, err
		}
		rows := read.rows
		current, err := current(ctx, w, read)
		if err != nil {
			return nil, err
		}
		current = slices.DeleteFunc(current, func(row ListedProposal) bool { return !isTitled(row, q.Title) })
		if found = append(found, current...); len(found) >= limit {
			return found[:limit], nil
		}
		if len(rows) < most {
			return found, nil
		}
		last := rows[len(rows)-1]
		after = &listVersion{at: last.PositionIn(q.Order).At, key: last.Key, revision: last.Revision}
	}
}

// listedRange is rows of the list in its order.
type listedRange struct {
	rows []ListedProposal
	// latest are the latest versions of the proposals of the rows, if they were read too.
	latest map[record.RefHash]ListedVersion
}

// listVersions returns the next rows of a segment, current or not. As the rows are read
// in the order of a projection of the table, reading ends when limit rows are selected.
func listVersions(
	ctx context.Context, w *warehouse.Warehouse, q query.Proposals, part orderSegment, after *listVersion, limit int,
) (listedRange, error) {
	wanted := part.conditions(after)
	wanted.add("dao_id != ''")
	wanted.addProposals(q)
	condition := strings.Join(wanted.conditions, "\n    AND ")
	read := func(ctx context.Context, w *warehouse.Warehouse, args [][]any) ([]listedRange, error) {
		if len(args) > 1 {
			return listVersionsOfSet(ctx, w, condition, part.order(), limit, args)
		}
		found, err := warehouse.Find[ListedProposal](ctx, w, "read rows",
			fmt.Sprintf(sqlText("listed_proposal_rows"), condition, part.order(), "{limit:UInt64}"),
			append(args[0], clickhouse.Named("limit", limit))...)
		return []listedRange{{rows: found}}, err
	}
	if q.Title != "" { // the value of a subquery cannot be a column of a set
		found, err := read(ctx, w, [][]any{wanted.args})
		return found[0], err
	}
	return warehouse.Share(ctx, w, fmt.Sprint("list ", part.order(), limit, condition), wanted.args, read)
}

// current returns the rows without earlier versions.
func current(ctx context.Context, w *warehouse.Warehouse, read listedRange) (_ []ListedProposal, err error) {
	if len(read.rows) == 0 {
		return nil, nil
	}
	if read.latest == nil {
		refs := warehouse.Values(read.rows, func(row ListedProposal) record.RefHash { return row.Ref })
		read.latest, err = warehouse.Share(ctx, w, "versions", refs, warehouse.Together(ListedVersions))
	}
	seen := map[record.RefHash]bool{}
	return slices.DeleteFunc(slices.Clone(read.rows), func(row ListedProposal) bool {
		outdated := seen[row.Ref] || read.latest[row.Ref].Revision != row.Revision
		seen[row.Ref] = seen[row.Ref] || !outdated
		return outdated
	}), err
}
