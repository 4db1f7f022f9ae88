package warehouse

import (
	"fmt"
	"strings"
	"time"

	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// table says how the records of one kind are written.
type table struct {
	kind record.Kind
	// keys are the columns of the sorting key with their types; they come first
	// among the columns, and record.Record.Key returns their values.
	keys []column
	// columns are the others, without the provenance columns.
	columns []string
	// values appends a record's values for columns.
	values func(into []any, r record.Record) ([]any, error)
}

// column is a column's name and type.
type column struct {
	name string
	kind chcolumn.Type
}

// provenanceColumns end every table of records; see migrations/0001_sources.sql.
const provenanceColumns = "fingerprint, version, discovered_at, observed_at, import_id"

// tableOf returns the table that holds a kind of record.
func tableOf(kind record.Kind) (table, error) {
	switch kind {
	case record.KindDAO:
		return daoTable(), nil
	case record.KindSource:
		return sourceTable(), nil
	case record.KindCategory:
		return categoryTable(), nil
	case record.KindProposal:
		return proposalTable(), nil
	case record.KindBallot:
		return ballotTable(), nil
	case record.KindTopic:
		return topicTable(), nil
	case record.KindEvent:
		return eventTable(), nil
	case record.KindSignal:
		return signalTable(), nil
	case record.KindEvidence:
		return evidenceTable(), nil
	}
	return table{}, fmt.Errorf("no table holds records of kind %q", kind)
}

// insertSQL returns the statement that appends rows.
func (t table) insertSQL() string {
	columns := append(t.keyNames(), t.columns...)
	return fmt.Sprintf("INSERT INTO %s (%s, %s)", t.kind, strings.Join(columns, ", "), provenanceColumns)
}

// storedVersionsSQL returns the query for what is held under the keys of the external
// table "batch_keys".
func (t table) storedVersionsSQL() string {
	keys := strings.Join(t.keyNames(), ", ")
	return fmt.Sprintf(sqlText("record_versions"), keys, t.kind, keys, keys, keys)
}

// knownKeysSQL returns the query for which of the first values of keys, in the external
// table "batch_keys", begin a key that is held.
func (t table) knownKeysSQL() string {
	first := t.keys[0].name
	return fmt.Sprintf(sqlText("record_known_keys"), first, t.kind, first, first)
}

func (t table) keyNames() []string {
	names := make([]string, len(t.keys))
	for i, key := range t.keys {
		names[i] = key.name
	}
	return names
}

// provenance is what every row says about where it came from.
type provenance struct {
	fingerprint  uint64
	version      uint64
	discoveredAt time.Time
	observedAt   time.Time
	importID     uuid.UUID
}

// values appends the values of the columns. Pointers spare a copy on the heap each.
func (p *provenance) values(into []any) []any {
	return append(into, &p.fingerprint, &p.version, &p.discoveredAt, &p.observedAt, &p.importID)
}

// timeOrNull is the column value of a moment that may be unknown.
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

// nonNilDecimals is an array column's value: never nil, which the driver refuses.
func nonNilDecimals(numbers []decimal.Decimal) any {
	if numbers == nil {
		return noDecimals
	}
	return numbers
}

// noDecimals is made once: nearly every ballot has two.
var noDecimals any = []decimal.Decimal{} //nolint:gochecknoglobals // a constant that Go cannot write as one

// nonNilTexts is an array column's value: never nil, which the driver refuses.
func nonNilTexts(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

// textOrEmpty returns the value of a text column; empty for nil.
func textOrEmpty[Text ~string](text *Text) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

// recordAs returns a record's own type; a record under a wrong kind is a programming
// error that Append reports.
func recordAs[T record.Record](r record.Record) (T, error) {
	typed, ok := r.(T)
	if !ok {
		return typed, fmt.Errorf("record of kind %s is a %T", r.Kind(), r)
	}
	return typed, nil
}
