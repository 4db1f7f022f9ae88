package warehouse

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Rows is the result of an analyst's query.
type Rows struct {
	// Columns are the names of the columns.
	Columns []string
	// Next returns the values of the next row, nil for NULL, and a nil slice after the
	// last row.
	Next func() ([]any, error)
	// Close ends the query.
	Close func() error
}

// OpenReadOnly connects for reading alone: the server itself refuses to write, to change
// settings and to read files or other addresses. It does not touch the schema.
func OpenReadOnly(ctx context.Context, o Options) (*Warehouse, error) {
	options, err := connectOptions(o)
	if err != nil {
		return nil, err
	}
	options.Settings = nil
	w := &Warehouse{options: options, cluster: o.Cluster, timeout: o.QueryTimeout, logger: o.Logger}
	if err := w.reconnect(ctx); err != nil {
		return nil, err
	}
	// A user who may only read cannot set readonly either.
	var readOnly uint64
	if err := w.conn.QueryRow(ctx, "SELECT toUInt64(getSetting('readonly'))").Scan(&readOnly); err != nil {
		return nil, errors.Join(fmt.Errorf("read the user's rights: %w", err), w.conn.Close())
	}
	if readOnly != 0 {
		return w, nil
	}
	options.Settings = clickhouse.Settings{"readonly": 1}
	return w, errors.Join(w.conn.Close(), w.reconnect(ctx))
}

// Query runs SQL of an analyst. Call it on a Warehouse from OpenReadOnly alone.
func (w *Warehouse) Query(ctx context.Context, sql string) (*Rows, error) {
	rows, err := w.conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	types := rows.ColumnTypes()
	next := func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		targets := make([]any, len(types))
		for i, column := range types {
			targets[i] = newTarget(column)
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		for i, target := range targets {
			targets[i] = reflect.ValueOf(target).Elem().Interface()
		}
		return targets, nil
	}
	return &Rows{Columns: rows.Columns(), Next: next, Close: rows.Close}, nil
}

// namedTuple matches the type of a tuple with named elements.
var namedTuple = regexp.MustCompile(`^Tuple\(\w+ \w`)

// newTarget returns a pointer that a value of the column can be scanned into. The
// driver has no Go type for tuples.
func newTarget(column driver.ColumnType) any {
	switch kind := strings.TrimPrefix(column.DatabaseTypeName(), "Nullable("); {
	case namedTuple.MatchString(kind):
		return new(map[string]any)
	case strings.HasPrefix(kind, "Tuple("):
		return new([]any)
	}
	return reflect.New(column.ScanType()).Interface()
}
