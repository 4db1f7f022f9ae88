package warehouse

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/record"
)

// ProposalName is something that a proposal is found by.
type ProposalName struct {
	// Field is the field that it is the value of: one of governance.MatchedSourceURL
	// and its like.
	Field string
	// Text is its one spelling: of an address governance.CanonicalURL, of others as
	// they are folded.
	Text string
}

func (n ProposalName) hash() uint64 {
	return xxhash.Sum64String(n.Field + "\x00" + n.Text)
}

// Names returns everything that the proposal is found by exactly, each once.
func (p ListedProposal) Names() []ProposalName {
	names := []ProposalName{
		{governance.MatchedExternalID, governance.NormalizeExternalID(p.Identity.ExternalID)},
		{governance.MatchedSourceURL, governance.CanonicalURL(p.SourceURL)},
		{governance.MatchedDiscussionURL, governance.CanonicalURL(p.DiscussionURL)},
		{governance.MatchedTitle, governance.NormalizeTitle(p.Title)},
	}
	// The address that follows from the ids is one of the proposal's, whatever other
	// upstream states.
	names = append(names, ProposalName{governance.MatchedSourceURL, p.Identity.Provider.ProposalURL(p.SourceID, p.Identity.ExternalID)})
	slices.SortFunc(names, func(a, b ProposalName) int { return strings.Compare(a.Field+a.Text, b.Field+b.Text) })
	names = slices.DeleteFunc(names, func(n ProposalName) bool { return n.Text == "" })
	return slices.Compact(names)
}

// inScope says whether a proposal is of the DAO and the provider that a query names.
func inScope(q query.Resolve, p ListedProposal) bool {
	return (q.DAOID == "" || p.Identity.DAOID == q.DAOID) &&
		(q.Provider == "" || string(p.Identity.Provider) == q.Provider)
}

// ProposalsNamed returns the first q.Limit proposals of a name, the newest first, of the
// DAO and the provider of q.
func (w *Warehouse) ProposalsNamed(ctx context.Context, name ProposalName, q query.Resolve) ([]ListedProposal, error) {
	next := func(after *indexEntry, limit int) ([]indexEntry, error) {
		return w.indexEntries(ctx, sqlText("proposal_name_exact"), q, after, limit, clickhouse.Named("name", name.hash()))
	}
	return w.followIndex(ctx, q.Limit, next, func(e indexEntry, p ListedProposal) bool {
		return e.isCurrent(p) && inScope(q, p) && slices.Contains(p.Names(), name)
	})
}

// ProposalsTitled returns the first q.Limit proposals with a title that contains q.Title
// and more: the shorter before the longer, then the newest first.
func (w *Warehouse) ProposalsTitled(ctx context.Context, q query.Resolve) ([]ListedProposal, error) {
	next := func(after *indexEntry, limit int) ([]indexEntry, error) {
		return w.indexEntries(ctx, sqlText("proposal_name_titles"), q, after, limit,
			clickhouse.Named("text", q.Title), clickhouse.Named("longer", runeCount(q.Title)))
	}
	return w.followIndex(ctx, q.Limit, next, func(e indexEntry, p ListedProposal) bool {
		title := governance.NormalizeTitle(p.Title)
		return e.isCurrent(p) && inScope(q, p) && runeCount(title) == e.length && strings.Contains(title, q.Title)
	})
}

// indexEntry is an entry of proposal_names or proposal_titles, maybe out of date.
type indexEntry struct {
	ref    record.RefHash
	key    string
	length uint32
	// descending is as descendingTime.
	descending int64
}

// isCurrent says whether the entry still says where the proposal stands.
func (e indexEntry) isCurrent(p ListedProposal) bool {
	return e.key == string(p.Key) && e.descending == descendingTime(p.CreatedAt)
}

// followIndex follows an index, in its order, to the current rows of proposals, until there
// are limit that an entry still holds for. The next entries are asked for by the last
// one of those before, nil at the beginning.
func (w *Warehouse) followIndex(
	ctx context.Context, limit int,
	next func(after *indexEntry, limit int) ([]indexEntry, error), holds func(indexEntry, ListedProposal) bool,
) ([]ListedProposal, error) {
	var found []ListedProposal
	seen := map[record.RefHash]bool{}
	for after := (*indexEntry)(nil); ; {
		most := limit - len(found) + staleRowMargin
		entries, err := next(after, most)
		if err != nil {
			return nil, err
		}
		refs := make([]record.RefHash, len(entries))
		for i, entry := range entries {
			refs[i] = entry.ref
		}
		rows, err := w.listed(ctx, refs)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			row, there := rows[entry.ref]
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

func (w *Warehouse) indexEntries(
	ctx context.Context, sql string, q query.Resolve, after *indexEntry, limit int, args ...any,
) ([]indexEntry, error) {
	if after == nil {
		after = &indexEntry{}
	}
	args = append(args, clickhouse.Named("dao", q.DAOID), clickhouse.Named("provider", q.Provider),
		clickhouse.Named("after_key", after.key), clickhouse.Named("after_descending", after.descending),
		clickhouse.Named("after_length", after.length), clickhouse.Named("limit", limit))
	rows, err := w.conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("look up proposals: %w", err)
	}
	defer rows.Close()
	return scanIndexEntries(rows)
}

func scanIndexEntries(rows driver.Rows) ([]indexEntry, error) {
	var entries []indexEntry
	for rows.Next() {
		var e indexEntry
		var ref string
		if err := rows.Scan(&e.length, &e.descending, &e.key, &ref); err != nil {
			return nil, fmt.Errorf("look up proposals: %w", err)
		}
		e.ref = record.RefHash([]byte(ref))
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// descendingTime is a number by which later times come first, and unknown ones last.
func descendingTime(stamp *governance.Timestamp) int64 {
	if stamp == nil {
		return math.MaxInt64
	}
	return -int64(*stamp)
}

func runeCount(text string) uint32 {
	return uint32(utf8.RuneCountInString(text)) //nolint:gosec // no text is that long
}
