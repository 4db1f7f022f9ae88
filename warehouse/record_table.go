package warehouse

import (
	"fmt"
	"strings"
	"time"

	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// table describes how the records of one kind are stored.
type table struct {
	kind record.Kind
	// keys are the columns of the sorting key with their types. They precede the other
	// columns; record.Record.Key returns their values.
	keys []column
	// columns are the other columns, without the provenance.
	columns []string
	// values appends the values of columns for a record.
	values func(into []any, r record.Record) ([]any, error)
}

type column struct {
	name string
	kind chcolumn.Type
}

// provenanceColumns are the last columns of every table of records; see
// migrations/0001_sources.sql.
const provenanceColumns = "fingerprint, version, discovered_at, observed_at, import_id"

func tableOf(kind record.Kind) (table, error) {
	for _, t := range []table{
		daoTable(), sourceTable(), categoryTable(), proposalTable(), ballotTable(), topicTable(), eventTable(), signalTable(), evidenceTable(),
		actionTable(), delegationTable(), delegatePowerTable(), tokenSupplyTable(), observationTable(), nameTable(),
	} {
		if t.kind == kind {
			return t, nil
		}
	}
	return table{}, fmt.Errorf("no table for records of kind %q", kind)
}

// insertSQL returns the statement that appends rows.
func (t table) insertSQL() string {
	columns := append(t.keyNames(), t.columns...)
	return fmt.Sprintf("INSERT INTO %s (%s, %s)", t.kind, strings.Join(columns, ", "), provenanceColumns)
}

// storedVersionsSQL returns the query for the latest versions under the keys of the
// external table "batch_keys".
func (t table) storedVersionsSQL() string {
	keys := strings.Join(t.keyNames(), ", ")
	return fmt.Sprintf(sqlText("record_table_versions"), keys, t.kind, keys, keys, keys)
}

// knownKeysSQL returns the query for the values in the external table "batch_keys" that
// are the first value of a stored key.
func (t table) knownKeysSQL() string {
	first := t.keys[0].name
	return fmt.Sprintf(sqlText("record_table_known_keys"), first, t.kind, first, first)
}

func (t table) keyNames() []string {
	names := make([]string, len(t.keys))
	for i, key := range t.keys {
		names[i] = key.name
	}
	return names
}

// timeOrNull returns the value of a nullable time column.
func timeOrNull(stamp *governance.Timestamp) *time.Time {
	if stamp == nil {
		return nil
	}
	moment := stamp.Time()
	return &moment
}

// timestampOf is the reverse of timeOrNull.
func timestampOf(moment *time.Time) *governance.Timestamp {
	if moment == nil {
		return nil
	}
	stamp := governance.TimestampOf(*moment)
	return &stamp
}

// nonNilDecimals returns the value of an array column. The driver rejects a nil slice.
func nonNilDecimals(numbers []decimal.Decimal) any {
	if numbers == nil {
		return noDecimals
	}
	return numbers
}

// noDecimals is shared because nearly every ballot has two empty arrays.
var noDecimals any = []decimal.Decimal{} //nolint:gochecknoglobals // a constant that Go cannot write as one

// nonNilTexts returns the value of an array column. The driver rejects a nil slice.
func nonNilTexts[Text ~string](values []Text) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = string(value)
	}
	return all
}

// textOrEmpty returns the value of a text column; empty for nil.
func textOrEmpty[Text ~string](text *Text) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

// valuesOf adapts the values of one type of record. A record of another type is a programming
// error, which Append returns.
func valuesOf[R record.Record](values func(into []any, r R) ([]any, error)) func([]any, record.Record) ([]any, error) {
	return func(into []any, r record.Record) ([]any, error) {
		typed, ok := r.(R)
		if !ok {
			return nil, fmt.Errorf("record of kind %s is a %T", r.Kind(), r)
		}
		return values(into, typed)
	}
}
