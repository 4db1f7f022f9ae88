package pages

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/cespare/xxhash/v2"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

// ProposalName is a text by which searches find a proposal.
type ProposalName struct {
	// Field is the field whose value the name is.
	Field governance.MatchedField
	// Text is the normalized spelling: governance.CanonicalURL of an address, and the
	// result of the field's own normalization of any other name.
	Text string
}

func (n ProposalName) hash() uint64 { return xxhash.Sum64String(string(n.Field) + "\x00" + n.Text) }

// Names returns the names by which an exact search finds the proposal, each once.
func (p ListedProposal) Names() []ProposalName {
	names := []ProposalName{
		{governance.MatchedSourceURL, governance.CanonicalURL(p.SourceURL)},
		{governance.MatchedDiscussionURL, governance.CanonicalURL(p.DiscussionURL)},
		{governance.MatchedTitle, governance.NormalizeTitle(p.Title)},
	}
	for _, id := range p.Identity.Provider.KnownIDs(p.Identity.ExternalID, p.SourceURL) {
		names = append(names, ProposalName{governance.MatchedExternalID, governance.NormalizeExternalID(id)})
	}
	// The address derived from the ids is always a name, even if upstream states another.
	names = append(names, ProposalName{governance.MatchedSourceURL, p.Identity.Provider.ProposalURL(p.SourceID, p.Identity.ExternalID)})
	slices.SortFunc(names, func(a, b ProposalName) int { return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Text, b.Text)) })
	names = slices.DeleteFunc(names, func(n ProposalName) bool { return n.Text == "" })
	return slices.Compact(names)
}

func inScope(q query.Resolve, p ListedProposal) bool {
	return (q.DAOID == "" || p.Identity.DAOID == q.DAOID) &&
		(q.Provider == "" || string(p.Identity.Provider) == q.Provider)
}

// ProposalsNamed returns the first q.Limit proposals with a name, the newest first, that
// belong to the DAO and the provider of q.
func ProposalsNamed(ctx context.Context, w *warehouse.Warehouse, name ProposalName, q query.Resolve) ([]ListedProposal, error) {
	next := func(after *indexEntry, limit int) ([]indexEntry, error) {
		return indexEntries(ctx, w, sqlText("proposal_name_exact"), q, after, limit, clickhouse.Named("name", name.hash()))
	}
	return followIndex(ctx, w, q.Limit, next, func(e indexEntry, p ListedProposal) bool {
		found := !p.Flagged || name.Field != governance.MatchedTitle // spam takes no title from others
		return found && e.isCurrent(p) && inScope(q, p) && slices.Contains(p.Names(), name)
	})
}

// ProposalsLinked returns the first q.Limit proposals of q's DAO and provider to which links have a name (see
// governance.LinkedProposal), in order of their titles.
func ProposalsLinked(ctx context.Context, w *warehouse.Warehouse, name string, q query.Resolve) ([]ListedProposal, error) {
	links, err := counts.LinkedProposals(ctx, w, nil, []string{name})
	if err != nil {
		return nil, err
	}
	refs := warehouse.Values(links, func(link counts.ProposalLink) record.RefHash { return link.Ref })
	rows, err := listed(ctx, w, refs)
	var found []ListedProposal
	for _, link := range links {
		if p, listed := rows[link.Ref]; listed && p.Key == link.Key && inScope(q, p) && len(found) < q.Limit {
			found = append(found, p)
		}
	}
	return found, err
}

// ProposalsTitled returns the first q.Limit proposals whose title contains q.Title and is longer.
// Shorter titles come first, and newer proposals first among titles of one length.
func ProposalsTitled(ctx context.Context, w *warehouse.Warehouse, q query.Resolve) ([]ListedProposal, error) {
	next := func(after *indexEntry, limit int) ([]indexEntry, error) {
		return indexEntries(ctx, w, sqlText("proposal_name_titles"), q, after, limit,
			clickhouse.Named("text", q.Title), clickhouse.Named("longer", runeCount(q.Title)))
	}
	return followIndex(ctx, w, q.Limit, next, func(e indexEntry, p ListedProposal) bool {
		title := governance.NormalizeTitle(p.Title)
		return !p.Flagged && e.isCurrent(p) && inScope(q, p) && runeCount(title) == e.Length && strings.Contains(title, q.Title)
	})
}

// indexEntry is an entry of proposal_names or proposal_titles, which may be out of date.
type indexEntry struct {
	Ref    record.RefHash         `ch:"proposal_ref"`
	Key    governance.ProposalKey `ch:"proposal_key"`
	Length uint32
	// Descending is the descendingTime of the proposal's creation.
	Descending int64
}

func (e indexEntry) isCurrent(p ListedProposal) bool {
	return e.Key == p.Key && e.Descending == descendingTime(p.CreatedAt)
}

// followIndex reads the entries of an index in order. next reads those after an entry; nil reads from the
// beginning. It returns the current rows of the first limit proposals for which holds is true of an entry.
func followIndex(
	ctx context.Context, w *warehouse.Warehouse, limit int,
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
		refs := warehouse.Values(entries, func(entry indexEntry) record.RefHash { return entry.Ref })
		rows, err := listed(ctx, w, refs)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			row, there := rows[entry.Ref]
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

func indexEntries(
	ctx context.Context, w *warehouse.Warehouse, sql string, q query.Resolve, after *indexEntry, limit int, args ...any,
) ([]indexEntry, error) {
	if after == nil {
		after = &indexEntry{}
	}
	args = append(args, clickhouse.Named("dao", q.DAOID), clickhouse.Named("provider", q.Provider),
		clickhouse.Named("after_key", string(after.Key)), clickhouse.Named("after_descending", after.Descending),
		clickhouse.Named("after_length", after.Length), clickhouse.Named("limit", limit))
	return warehouse.Find[indexEntry](ctx, w, "look up proposals", sql, args...)
}

// descendingTime returns a number that is less for a later time, and greatest for none.
func descendingTime(stamp *governance.Timestamp) int64 {
	if stamp == nil {
		return math.MaxInt64
	}
	return -int64(*stamp)
}

func runeCount(text string) uint32 {
	return uint32(utf8.RuneCountInString(text)) //nolint:gosec // no text is that long
}
