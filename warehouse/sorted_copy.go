package warehouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse/record"
)

// OrderKind says what an ordered copy holds.
type OrderKind string

// The kinds of ordered copies.
const (
	// BallotOrder holds the latest ballots of a proposal, by power and by time.
	BallotOrder OrderKind = "ballots"
	// VoterOrder holds the ranking of a DAO's voters.
	VoterOrder OrderKind = "voters"
)

// OrderedFrom is how many ballots a proposal or DAO has that is worth a copy. Up
// to there a page is sorted when it is asked for, within 30 ms.
const OrderedFrom = 20_000

// Order names the current copy of a subject.
type Order struct {
	Kind OrderKind
	// Subject is a proposal's key or a DAO's id.
	Subject string
	// Ref is the proposal behind Subject; zero for a DAO.
	Ref record.RefHash
	// Generation is zero for a subject without a copy.
	Generation uint64
	// Revision is the publication whose numbers the copy agrees with, and Votes how
	// many ballots that counted.
	Revision uint64
	Votes    uint64
}

// StaleOrders returns the copies that are missing or behind what is published, the
// smallest first: they are done soonest.
func (w *Warehouse) StaleOrders(ctx context.Context) ([]Order, error) {
	rows, err := w.conn.Query(ctx, query("sorted_copy_stale"), uint64(OrderedFrom), uint64(OrderedFrom))
	if err != nil {
		return nil, fmt.Errorf("list stale orders: %w", err)
	}
	defer rows.Close()
	var orders []Order
	for rows.Next() {
		var o Order
		var kind, ref string
		if err := rows.Scan(&kind, &o.Subject, &ref, &o.Generation, &o.Revision, &o.Votes); err != nil {
			return nil, fmt.Errorf("list stale orders: %w", err)
		}
		o.Kind, o.Ref = OrderKind(kind), record.RefHash([]byte(ref))
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

// BuildOrder writes a new generation of a copy. Nobody sees it before SwitchOrder.
func (w *Warehouse) BuildOrder(ctx context.Context, o Order, generation uint64) error {
	var err error
	switch o.Kind {
	case BallotOrder:
		err = w.conn.Exec(ctx, query("sorted_copy_build_ballots"), clickhouse.Named("generation", generation),
			clickhouse.Named("ref", hex.EncodeToString(o.Ref[:])), bindNoTime())
	case VoterOrder:
		err = w.conn.Exec(ctx, fmt.Sprintf(query("sorted_copy_build_voters"), query("voter_ranking")),
			clickhouse.Named("generation", generation), clickhouse.Named("dao", o.Subject))
	}
	if err != nil {
		return fmt.Errorf("build the order of %s %s: %w", o.Kind, o.Subject, err)
	}
	return nil
}

// Balanced says whether a built copy agrees with what is published: a ranking with
// the votes and powers of the DAO's proposals.
func (w *Warehouse) Balanced(ctx context.Context, o Order, generation uint64) (bool, error) {
	if o.Kind != VoterOrder {
		return true, nil
	}
	var balanced bool
	row := w.conn.QueryRow(ctx, query("sorted_copy_matches_published"),
		clickhouse.Named("generation", generation), clickhouse.Named("dao", o.Subject))
	if err := row.Scan(&balanced); err != nil {
		return false, fmt.Errorf("check the order of %s: %w", o.Subject, err)
	}
	return balanced, nil
}

// SwitchOrder makes a generation the current one.
func (w *Warehouse) SwitchOrder(ctx context.Context, o Order) error {
	insert, err := w.conn.PrepareBatch(ctx, "INSERT INTO orders (kind, subject, generation, revision)")
	if err != nil {
		return fmt.Errorf("switch the order of %s: %w", o.Subject, err)
	}
	defer insert.Close()
	if err := insert.Append(string(o.Kind), o.Subject, o.Generation, o.Revision); err != nil {
		return fmt.Errorf("switch the order of %s: %w", o.Subject, err)
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("switch the order of %s: %w", o.Subject, err)
	}
	return nil
}

// CurrentOrders returns the current copy of every subject that has one.
func (w *Warehouse) CurrentOrders(ctx context.Context) ([]Order, error) {
	rows, err := w.conn.Query(ctx, query("sorted_copy_current"))
	if err != nil {
		return nil, fmt.Errorf("list current orders: %w", err)
	}
	defer rows.Close()
	var orders []Order
	for rows.Next() {
		var o Order
		var kind string
		if err := rows.Scan(&kind, &o.Subject, &o.Generation, &o.Revision); err != nil {
			return nil, fmt.Errorf("list current orders: %w", err)
		}
		o.Kind = OrderKind(kind)
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

// DropOldOrders removes the generations that are not among the current ones and
// were begun before a time: those that were replaced, and those whose build was
// cut off.
func (w *Warehouse) DropOldOrders(ctx context.Context, current []Order, before time.Time) error {
	generations := make([]uint64, len(current))
	for i, order := range current {
		generations[i] = order.Generation
	}
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := w.dropOldOrders(ctx, node, generations, before); err != nil {
			return fmt.Errorf("drop old orders: %w", err)
		}
	}
	return nil
}

// dropOldOrders drops partitions on one node: a distributed table has none.
func (w *Warehouse) dropOldOrders(ctx context.Context, node []string, current []uint64, before time.Time) error {
	conn, err := w.connect(ctx, node, w.options.Auth.Database)
	if err != nil {
		return err
	}
	defer conn.Close()
	var old []struct {
		Table      string `ch:"table"`
		Generation uint64 `ch:"generation"`
	}
	if err := conn.Select(ctx, &old, query("sorted_copy_old_generations"),
		clickhouse.Named("before", before.UnixMicro()), clickhouse.Named("current", current)); err != nil {
		return err
	}
	for _, o := range old {
		if err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DROP PARTITION %d", quoted(o.Table), o.Generation)); err != nil {
			return err
		}
	}
	return nil
}
