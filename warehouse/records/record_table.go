package records

import (
	"fmt"

	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// table describes how the records of one kind are stored.
type table struct {
	kind record.Kind
	// keys are the columns of the sorting key with their types. record.Record.Key returns their values. They precede
	// the other columns.
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

// provenanceColumns are the last columns of every table of records; see migrations/0001_sources.sql.
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

func (t table) keyNames() []string {
	return warehouse.Values(t.keys, func(key column) string { return key.name })
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
