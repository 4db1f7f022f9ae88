package feed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
)

const (
	// journalOverlap is how far back the journal is read again: a batch is stamped before it shows.
	journalOverlap = time.Minute
	// journalKept is how far back the journal is trusted to have every batch: less than it is kept.
	journalKept = 25 * 24 * time.Hour
	// maxTokenAge is how old the progress of a token gets before it is written again.
	maxTokenAge = 24 * time.Hour
	// maxPowerChanges bounds the changes that are read together; one span may have more.
	maxPowerChanges = 100_000
)

type journal struct {
	// through is the server's time of the last read; zero before the first.
	through time.Time
	// seen are the batches of the overlap whose powers are processed, with the time of their commit.
	seen map[uuid.UUID]time.Time
}

// processDelegates derives events and signals of the first delegates of tokens, from the first block that has
// changed, and from the beginning where other DAOs use a token now.
func (b *Builder) processDelegates(ctx context.Context) error {
	tokens, err := feed.FeedTokens(ctx, b.Warehouse)
	if err != nil || len(tokens) == 0 {
		return err
	}
	now, err := b.Warehouse.Now(ctx)
	if err != nil {
		return err
	}
	through := uint64(now.UnixMicro())
	batches, err := b.unseenBatches(ctx, tokens, now)
	if err != nil {
		return err
	}
	changed, err := feed.ChangedTokens(ctx, b.Warehouse, batches)
	if err != nil {
		return err
	}
	var progress []feed.FeedProgress
	for _, token := range tokens {
		block, pending := changed[token.Scope]
		if b.startsOver(token, now) {
			block, pending = 0, true
		}
		if pending {
			if err := b.processToken(ctx, token, block); err != nil {
				return err
			}
		}
		if pending || now.Sub(revisionTime(token)) > maxTokenAge {
			progress = append(progress, feed.FeedProgress{Item: token.Item, DAOID: joinedDAOs(token), Revision: through})
		}
	}
	if err := feed.NewFeed(b.Warehouse).WriteProgress(ctx, b.rulesVersion, progress); err != nil {
		return err
	}
	b.journal.through = now
	for _, batch := range batches {
		b.journal.seen[batch.BatchID] = batch.ChangedAt
	}
	maps.DeleteFunc(b.journal.seen, func(_ uuid.UUID, at time.Time) bool { return at.Before(now.Add(-2 * journalOverlap)) })
	return nil
}

func (b *Builder) unseenBatches(ctx context.Context, tokens []feed.FeedToken, now time.Time) ([]feed.JournalEntry, error) {
	since := b.journal.through
	if since.IsZero() {
		b.journal.seen, since = map[uuid.UUID]time.Time{}, now
		for _, token := range tokens {
			if !b.startsOver(token, now) && revisionTime(token).Before(since) {
				since = revisionTime(token)
			}
		}
	}
	batches, err := feed.JournalSince(ctx, b.Warehouse, since.Add(-journalOverlap))
	return slices.DeleteFunc(batches, func(batch feed.JournalEntry) bool {
		_, seen := b.journal.seen[batch.BatchID]
		return seen
	}), err
}

func (b *Builder) startsOver(token feed.FeedToken, now time.Time) bool {
	return token.RulesVersion != b.rulesVersion || token.DAOID != joinedDAOs(token) || now.Sub(revisionTime(token)) > journalKept
}

func revisionTime(token feed.FeedToken) time.Time {
	return time.UnixMicro(int64(token.Revision)) //nolint:gosec // a time
}

func joinedDAOs(token feed.FeedToken) string { return strings.Join(token.DAOs, "\x00") }

func (b *Builder) processToken(ctx context.Context, token feed.FeedToken, block uint64) error {
	spans, err := feed.PowerSpans(ctx, b.Warehouse, token.Scope, block)
	for len(spans) > 0 && err == nil {
		var changes uint64
		last := slices.IndexFunc(spans[1:], func(s feed.PowerSpan) bool {
			changes += s.Changes
			return changes+spans[0].Changes > maxPowerChanges
		}) + 1
		if last == 0 {
			last = len(spans)
		}
		b.AwaitFullPublication(ctx)
		err = b.processSpans(ctx, token, spans[:last])
		spans = spans[last:]
	}
	return err
}

// processSpans processes some spans of a token. One that no DAO uses has no rows, so that former ones are removed.
func (b *Builder) processSpans(ctx context.Context, token feed.FeedToken, spans []feed.PowerSpan) error {
	items := warehouse.Values(spans, func(span feed.PowerSpan) feed.FeedItem { return span.Item })
	rows, err := b.newBatch(ctx, items)
	if err != nil {
		return err
	}
	if len(token.DAOs) > 0 {
		history, err := feed.PowersBetween(ctx, b.Warehouse, token.Scope, spans[0].FirstBlock, spans[len(spans)-1].EndBlock, rules.FirstDelegates)
		if err != nil {
			return err
		}
		for _, move := range delegateMoves(token.Scope, history) {
			at := slices.IndexFunc(spans, func(s feed.PowerSpan) bool { return move.Block < s.EndBlock })
			if err := rows.addMove(move, spans[at].Item, token.DAOs); err != nil {
				return err
			}
		}
	}
	return b.write(ctx, rows)
}

func (r *batch) addMove(move delegateMove, item feed.FeedItem, daoIDs []string) error {
	key := fmt.Sprintf("%s/%d/%s", move.Token, move.Block, move.Delegate)
	title := move.Title()
	for _, daoID := range daoIDs {
		row := eventRow(event{rules.DelegateMoved, &move.At, governance.ExactTime, move.discoveredAt}, daoID, key, nil)
		row.ImportanceScore = rules.ImportanceOf(rules.DelegateMoved, governance.ExactTime, 0)
		row.Item, row.ItemType, row.Title = item, governance.DAOItem, &title
		r.events = append(r.events, row)
		for _, rule := range rules.SignalRules() {
			hit, found := rule.OnDelegate(move.DelegateMove)
			if !found {
				continue
			}
			signal, err := signalRow(rule, hit, daoID, key)
			if err != nil {
				return err
			}
			signal.Item = item
			r.signals = append(r.signals, signal)
		}
	}
	return nil
}

// delegateMove is a move with the time when the warehouse had the statements of its block.
type delegateMove struct {
	rules.DelegateMove
	discoveredAt governance.Timestamp
}

// delegateMoves returns the moves of a token's first delegates by block, without blocks of unknown time.
func delegateMoves(token string, history feed.PowerHistory) (moves []delegateMove) {
	powers := powerRanking{powers: map[string]decimal.Decimal{}}
	for _, held := range history.Before {
		powers.set(held.Delegate, held.Power)
	}
	supplies, supply := history.Supplies, (*decimal.Decimal)(nil)
	for changes := history.Changes; len(changes) > 0; {
		block := changes[0].Block
		n := len(changes)
		if next := slices.IndexFunc(changes, func(c feed.PowerChange) bool { return c.Block != block }); next > 0 {
			n = next
		}
		for len(supplies) > 0 && supplies[0].Block <= block {
			supply, supplies = nil, supplies[1:]
			if stated := history.Supplies[len(history.Supplies)-len(supplies)-1].Supply; stated.IsPositive() {
				supply = &stated
			}
		}
		moves = append(moves, powers.apply(token, changes[:n], supply)...)
		changes = changes[n:]
	}
	return moves
}

type powerRanking struct {
	powers map[string]decimal.Decimal
	// order has the delegates with power, the greatest first; equal ones by identity.
	order []string
}

// place returns the place of a delegate with a power, and whether the delegate has it.
func (r *powerRanking) place(delegate string, power decimal.Decimal) (int, bool) {
	return slices.BinarySearchFunc(r.order, delegate, func(other, _ string) int {
		return cmp.Or(power.Cmp(r.powers[other]), cmp.Compare(other, delegate))
	})
}

func (r *powerRanking) set(delegate string, power decimal.Decimal) {
	if held, ranked := r.powers[delegate]; ranked {
		at, _ := r.place(delegate, held)
		r.order = slices.Delete(r.order, at, at+1)
		delete(r.powers, delegate)
	}
	if power.IsPositive() {
		at, _ := r.place(delegate, power)
		r.order = slices.Insert(r.order, at, delegate)
		r.powers[delegate] = power
	}
}

func (r *powerRanking) first() []string {
	return slices.Clone(r.order[:min(len(r.order), rules.FirstDelegates)])
}

func (r *powerRanking) apply(token string, changes []feed.PowerChange, supply *decimal.Decimal) (moves []delegateMove) {
	was, held := r.first(), map[string]decimal.Decimal{}
	var at *governance.Timestamp
	var discoveredAt governance.Timestamp
	for _, c := range changes {
		held[c.Delegate] = r.powers[c.Delegate]
		r.set(c.Delegate, c.Power)
		at, discoveredAt = cmp.Or(at, c.At), max(discoveredAt, c.DiscoveredAt)
	}
	if at == nil {
		return nil
	}
	is := r.first()
	for _, delegate := range append(slices.Clone(was), is...) {
		wasFirst, isFirst := slices.Contains(was, delegate), slices.Contains(is, delegate)
		m := rules.DelegateMove{
			Delegate: delegate, Token: token, Block: changes[0].Block, At: *at,
			Before: r.powers[delegate], After: r.powers[delegate], Supply: supply,
		}
		if before, changed := held[delegate]; changed {
			m.Before = before
		}
		if move, found := rules.DelegateMoveOf(m, wasFirst, isFirst); found && !slices.ContainsFunc(moves, func(other delegateMove) bool {
			return other.Delegate == delegate
		}) {
			moves = append(moves, delegateMove{move, discoveredAt})
		}
	}
	return moves
}
