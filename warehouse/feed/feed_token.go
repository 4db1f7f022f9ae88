package feed

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// FeedToken is a token of which powers of delegates are held.
type FeedToken struct {
	// FeedProgress has in DAOID the DAOs that the feed includes the token for, joined.
	FeedProgress
	// RulesVersion is the one by which the feed includes the token; zero for none.
	RulesVersion uint64
	// Scope is the token, eip155:<chain>:<address>.
	Scope string
	// DAOs are those that use the token now, in order.
	DAOs []string `ch:"-"`
}

// FeedTokens returns the tokens of which powers of delegates are held, in order.
func FeedTokens(ctx context.Context, w *warehouse.Warehouse) ([]FeedToken, error) {
	tokens, err := warehouse.Find[FeedToken](ctx, w, "list the tokens of the feed", sqlText("feed_token_progress"))
	if err != nil || len(tokens) == 0 {
		return nil, err
	}
	scopes, err := records.ReadDelegationScopes(ctx, w)
	for i := range tokens {
		tokens[i].DAOs = scopes.DAOs[tokens[i].Scope]
	}
	return tokens, err
}

// JournalEntry is a committed batch without what it changes.
type JournalEntry struct {
	// BatchID is the batch, and ChangedAt the server's time of its commit.
	BatchID   uuid.UUID
	ChangedAt time.Time
	// ImportID and FirstVersion are the import and the lowest version of its records.
	ImportID     uuid.UUID
	FirstVersion uint64
}

// JournalSince returns the batches committed at or after since.
func JournalSince(ctx context.Context, w *warehouse.Warehouse, since time.Time) ([]JournalEntry, error) {
	const sql = "SELECT batch_id, changed_at, import_id, first_version FROM batches FINAL " +
		"WHERE sealed = 1 AND changed_at >= fromUnixTimestamp64Micro({since:Int64})"
	return warehouse.Find[JournalEntry](ctx, w, "read the journal of batches", sql, clickhouse.Named("since", since.UnixMicro()))
}

// ChangedTokens returns the tokens of which batches have powers or supplies, each with the first block.
func ChangedTokens(ctx context.Context, w *warehouse.Warehouse, batches []JournalEntry) (map[string]uint64, error) {
	if len(batches) == 0 {
		return map[string]uint64{}, nil
	}
	imports, first := map[uuid.UUID]bool{}, ^uint64(0)
	for _, b := range batches {
		imports[b.ImportID], first = true, min(first, b.FirstVersion)
	}
	return warehouse.FindBy[string, uint64](ctx, w, "list the tokens that changed", sqlText("feed_token_changed"),
		clickhouse.Named("imports", slices.Collect(maps.Keys(imports))), clickhouse.Named("first", first))
}

// PowerSpan are the blocks of a token that are one item of the feed.
type PowerSpan struct {
	Item FeedItem
	// FirstBlock is the first block, and EndBlock the one after the last.
	FirstBlock, EndBlock uint64
	// Changes is about how many powers change in the blocks.
	Changes uint64
}

// PowerSpans returns the spans of a token, from the span of a block on, in which powers change or did so
// in blocks that were replaced.
func PowerSpans(ctx context.Context, w *warehouse.Warehouse, scope string, block uint64) ([]PowerSpan, error) {
	const feedSpan = 50_000 // how many blocks of a token are one item of the feed
	return warehouse.Find[PowerSpan](ctx, w, "list the spans of a token", sqlText("feed_token_spans"), clickhouse.Named("scope", scope),
		clickhouse.Named("block", block), clickhouse.Named("span", uint64(feedSpan)))
}

// PowerChange is the power of a delegate after a block in which it was stated.
type PowerChange struct {
	Block    uint64
	Delegate string
	Power    decimal.Decimal
	// At is the time of the block; nil where it is not known.
	At           *governance.Timestamp
	DiscoveredAt governance.Timestamp // when the warehouse first had the statement
}

// TokenSupplyAt is the supply of a token from a block on.
type TokenSupplyAt struct {
	Block  uint64
	Supply decimal.Decimal
}

// PowerHistory is what happens in some blocks of a token.
type PowerHistory struct {
	// Before are the powers before the blocks: of the delegates in Changes, and of the first others.
	Before []PowerChange
	// Changes are in order of block and delegate; at most one for a delegate in a block.
	Changes []PowerChange
	// Supplies are those known in the blocks, in order, beginning with the last one before them.
	Supplies []TokenSupplyAt
}

// PowersBetween returns what happens in blocks of a token, from first on and before end. others is how
// many delegates without a change it returns.
func PowersBetween(ctx context.Context, w *warehouse.Warehouse, scope string, first, end uint64, others int) (h PowerHistory, err error) {
	args := []any{
		clickhouse.Named("scope", scope), clickhouse.Named("first", first), clickhouse.Named("end", end), clickhouse.Named("others", others),
	}
	ctx = warehouse.InBackground(ctx)
	h.Changes, err = warehouse.Find[PowerChange](ctx, w, "read the powers that change in blocks", sqlText("feed_token_powers"), args...)
	if err != nil || len(h.Changes) == 0 {
		return h, err
	}
	if h.Before, err = warehouse.Find[PowerChange](ctx, w, "read the powers before blocks", sqlText("feed_token_before"), args...); err != nil {
		return h, err
	}
	h.Supplies, err = warehouse.Find[TokenSupplyAt](ctx, w, "read the supplies in blocks", sqlText("feed_token_supplies"), args...)
	return h, err
}

// FirstPowers returns the powers of the first delegates of a token before a block, in order of delegate.
func FirstPowers(ctx context.Context, w *warehouse.Warehouse, scope string, end uint64, count int) ([]PowerChange, error) {
	return warehouse.Find[PowerChange](warehouse.InBackground(ctx), w, "read the first delegates of a token", sqlText("feed_token_before"),
		clickhouse.Named("scope", scope), clickhouse.Named("first", end), clickhouse.Named("end", end), clickhouse.Named("others", count))
}
