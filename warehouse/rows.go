package warehouse

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// Find runs a query and reads all rows of its result into values of T. It adds operation to every error.
//
// A column fills the field whose `ch` tag, or else whose name in snake case, is the
// column's name. Fields of nested structs count as fields of T; the outermost wins. The
// driver's own ScanStruct accepts neither named string types nor Timestamps nor the types
// of the API's rows. A result of one column may have a T that is no struct.
func Find[T any](ctx context.Context, w *Warehouse, operation, sql string, args ...any) ([]T, error) {
	rows, err := w.Conn.Query(ctx, sql, args...)
	return selectRows[T](rows, err, operation)
}

// selectRows is Find for what a query returned, error included. It closes the result.
func selectRows[T any](rows driver.Rows, err error, operation string) ([]T, error) {
	found := []T{}
	err = eachRow(rows, err, operation, func(row T) error {
		found = append(found, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// FindOne returns the first row that Find returns; the zero value for none.
func FindOne[T any](ctx context.Context, w *Warehouse, operation, sql string, args ...any) (row T, err error) {
	rows, err := Find[T](ctx, w, operation, sql, args...)
	if len(rows) > 0 {
		row = rows[0]
	}
	return row, err
}

// FindValue runs a query and returns its one value. operation begins every error.
func FindValue[T any](ctx context.Context, w *Warehouse, operation, sql string, args ...any) (value T, err error) {
	if err = w.Conn.QueryRow(ctx, sql, args...).Scan(&value); err != nil {
		err = fmt.Errorf("%s: %w", operation, err)
	}
	return value, err
}

// FindBy reads rows as Find does, into values by key. The statement's first columns fill the key: one
// column, or, for a K that is a struct, all leading columns for which it has fields. The others fill a V.
func FindBy[K comparable, V any](ctx context.Context, w *Warehouse, operation, sql string, args ...any) (map[K]V, error) {
	found := map[K]V{}
	return found, EachRow(ctx, w, operation, sql, func(row keyed[K, V]) error {
		found[row.Key] = row.Value
		return nil
	}, args...)
}

// FindGroups is FindBy for keys with several values, in the order of the rows.
func FindGroups[K comparable, V any](
	ctx context.Context, w *Warehouse, operation, sql string, args ...any,
) (map[K][]V, error) {
	found := map[K][]V{}
	return found, EachRow(ctx, w, operation, sql, func(row keyed[K, V]) error {
		found[row.Key] = append(found[row.Key], row.Value)
		return nil
	}, args...)
}

// keyed is a row whose first columns fill Key, and all others Value.
type keyed[K comparable, V any] struct {
	Key   K
	Value V
}

func (keyed[K, V]) isKeyed() {}

// Keyed returns rows by the key of each, as pair returns it with its value. It passes err on.
func Keyed[T any, K comparable, V any](rows []T, err error, pair func(T) (K, V)) (map[K]V, error) {
	found := make(map[K]V, len(rows))
	for _, row := range rows {
		key, value := pair(row)
		found[key] = value
	}
	return found, err
}

// Values returns a value of each row, in their order.
func Values[T, V any](rows []T, value func(T) V) []V {
	values := make([]V, len(rows))
	for i, row := range rows {
		values[i] = value(row)
	}
	return values
}

// Divide splits rows into groups of at most maxRows rows and a sum of maxSize, as sizeOf counts. A row that
// alone has more is a group by itself.
func Divide[T any](rows []T, maxRows int, sizeOf func(T) uint64, maxSize uint64) (groups [][]T) {
	var begin int
	var total uint64
	for i, row := range rows {
		size := sizeOf(row)
		if i > begin && (i-begin == maxRows || total+size > maxSize) {
			groups = append(groups, rows[begin:i])
			begin, total = i, 0
		}
		total += size
	}
	if begin < len(rows) {
		groups = append(groups, rows[begin:])
	}
	return groups
}

// EachRow is Find for results that do not fit into memory. It stops at an error of
// yield, which it returns as it is.
func EachRow[T any](ctx context.Context, w *Warehouse, operation, sql string, yield func(T) error, args ...any) error {
	rows, err := w.Conn.Query(ctx, sql, args...)
	return eachRow(rows, err, operation, yield)
}

func eachRow[T any](rows driver.Rows, err error, operation string, yield func(T) error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer rows.Close()
	var row, empty T
	targets, err := scanTargets(reflect.ValueOf(&row).Elem(), rows.Columns())
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	for rows.Next() {
		row = empty
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		if err := yield(row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// scanTargets returns where the driver puts the columns of a row; a row, key or value that is no struct takes one.
func scanTargets(row reflect.Value, columns []string) (targets []any, err error) {
	if _, is := reflect.TypeAssert[interface{ isKeyed() }](row); is {
		key, count := row.Field(0), min(1, len(columns)) // over HTTP, an empty result has no columns
		for isNested(key.Type()) && count < len(columns) && fieldOf(key.Type(), columns[count]) != nil {
			count++
		}
		keyTargets, keyErr := scanTargets(key, columns[:count])
		targets, err = scanTargets(row.Field(1), columns[count:])
		return append(keyTargets, targets...), errors.Join(keyErr, err)
	}
	nested := isNested(row.Type())
	if !nested && len(columns) > 1 {
		return nil, fmt.Errorf("%s takes one column, not %d", row.Type(), len(columns))
	}
	for _, column := range columns {
		var index []int
		if nested {
			if index = fieldOf(row.Type(), column); index == nil {
				return nil, fmt.Errorf("%s has no field for column %s", row.Type(), column)
			}
		}
		targets = append(targets, scanTarget(row, index))
	}
	return targets, nil
}

// fieldOf returns the index of the outermost field for a column, nil for none.
func fieldOf(row reflect.Type, column string) []int {
	for field := range row.Fields() {
		tag, tagged := field.Tag.Lookup("ch")
		if !isNested(field.Type) && field.IsExported() && (tag == column || !tagged && snakeCase(field.Name) == column) {
			return field.Index
		}
	}
	for field := range row.Fields() {
		if !isNested(field.Type) {
			continue
		}
		if index := fieldOf(field.Type, column); index != nil {
			return append(field.Index, index...)
		}
	}
	return nil
}

// isNested reports whether the fields of a type are columns of their own.
func isNested(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() &&
		!strings.HasSuffix(t.PkgPath(), "/decimal")
}

// snakeCase returns the column name of a field name: DAOID is dao_id, SourceURL source_url.
func snakeCase(name string) string {
	runes := []rune(strings.Replace(name, "DAO", "Dao", 1))
	var column strings.Builder
	for i, r := range runes {
		begins := unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			column.WriteByte('_')
		}
		column.WriteRune(unicode.ToLower(r))
	}
	return column.String()
}

// scanTarget returns a pointer to a field of a row, or with no index to the row itself,
// in a form that the driver can scan into.
func scanTarget(row reflect.Value, index []int) any {
	field := row
	if len(index) > 0 {
		field = row.FieldByIndex(index)
	}
	switch p := field.Addr().Interface().(type) {
	case *governance.Timestamp:
		return scanner(func(value any) bool { return scanTime(p, value) })
	case **governance.Timestamp:
		return scanner(func(value any) bool {
			if moment, is := value.(time.Time); value == nil || is && moment.Equal(unknownTime) {
				*p = nil
				return true
			}
			*p = new(governance.Timestamp)
			return scanTime(*p, value)
		})
	case *record.RefHash: // of a FixedString(16), or a String of that length
		return scanner(func(value any) bool {
			text, is := value.(string)
			return is && len(text) == len(p) && copy(p[:], text) == len(p)
		})
	case *governance.Decimal:
		return scanner(func(value any) bool {
			switch value := value.(type) {
			case decimal.Decimal:
				*p = governance.DecimalOf(value)
			case uint64:
				*p = governance.CountOf(value)
			default:
				return false
			}
			return true
		})
	case *int: // of a UInt8
		return scanner(func(value any) bool {
			number, is := value.(uint8)
			*p = int(number)
			return is
		})
	case **string:
		return scanner(func(value any) bool { return scanText(p, value) })
	case **governance.ProposalKey:
		return scanner(func(value any) bool { return scanText(p, value) })
	}
	if field.Kind() == reflect.String {
		return field.Addr().Convert(reflect.TypeFor[*string]()).Interface()
	}
	return field.Addr().Interface()
}

// scanner takes a value of a column, nil for NULL, and reports whether it has the type of the field.
type scanner func(value any) bool

// Scan implements sql.Scanner.
func (s scanner) Scan(value any) error {
	if !s(value) {
		return fmt.Errorf("scan %T into a field of another type", value)
	}
	return nil
}

func scanTime(into *governance.Timestamp, value any) bool {
	moment, is := value.(time.Time)
	*into = governance.TimestampOf(moment)
	return is
}

// scanText reads a column in which NULL or the empty text stands for none.
func scanText[Text ~string](into **Text, value any) bool {
	text, is := value.(string)
	*into = nil
	if text != "" {
		*into = new(Text(text))
	}
	return is || value == nil
}

// InsertRows writes rows of values as one block, which the server stores as a whole or not at all;
// no rows are no block. operation begins every error.
func InsertRows(ctx context.Context, w *Warehouse, sql, operation string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	insert, err := w.Conn.PrepareBatch(ctx, sql)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer insert.Close()
	for _, row := range rows {
		if err := insert.Append(row...); err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// Table is a table that travels with a query, as one of its arguments.
type Table struct {
	table *ext.Table
	err   error // of making it
}

// ExternalTable returns a table with one row for each of rows.
func ExternalTable[T any](name string, rows []T, values func(T) []any, columns ...func(*ext.Table) error) Table {
	table, err := ext.NewTable(name, columns...)
	for i := 0; err == nil && i < len(rows); i++ {
		err = table.Append(values(rows[i])...)
	}
	return Table{table, err}
}

// TextColumn is a String column of an external table.
func TextColumn(name string) func(*ext.Table) error { return ext.Column(name, "String") }

// RefTable returns the table "wanted_proposals".
func RefTable(refs []record.RefHash) Table {
	return ExternalTable("wanted_proposals", refs,
		func(ref record.RefHash) []any { return []any{string(ref[:])} },
		ext.Column("proposal_ref", "FixedString(16)"))
}

// withTables returns a context that sends the tables among the arguments of a query, and the other arguments.
func withTables(ctx context.Context, args []any) (_ context.Context, bound []any, err error) {
	var tables []*ext.Table
	for _, arg := range args {
		if t, is := arg.(Table); is {
			tables, err = append(tables, t.table), errors.Join(err, t.err)
		} else {
			bound = append(bound, arg)
		}
	}
	if len(tables) > 0 {
		ctx = clickhouse.Context(ctx, clickhouse.WithExternalTable(tables...))
	}
	return ctx, bound, err
}
