package records

import (
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func delegationTable() table {
	return placedTable(record.KindDelegation, []string{"scope", "delegator"}, []string{"delegates", "shares"},
		func(into []any, d *record.Delegation) ([]any, *record.Placed) {
			return append(into, warehouse.NonNilTexts(d.Delegates), warehouse.NonNilDecimals(d.Shares)), &d.Placed
		})
}

func delegatePowerTable() table {
	return placedTable(record.KindDelegatePower, []string{"scope", "delegate"}, []string{"power"},
		func(into []any, d *record.DelegatePower) ([]any, *record.Placed) {
			return append(into, d.Power), &d.Placed
		})
}

func tokenSupplyTable() table {
	return placedTable(record.KindTokenSupply, []string{"scope"}, []string{"supply"},
		func(into []any, s *record.TokenSupply) ([]any, *record.Placed) {
			return append(into, s.Supply), &s.Placed
		})
}

// placedTable describes a table whose keys end with a place, with columns of its own before
// the columns of the place.
func placedTable[R record.Record](
	kind record.Kind, keys, columns []string, values func(into []any, r R) ([]any, *record.Placed),
) table {
	t := table{kind: kind, columns: append(columns, "block", "at", "withdrawn")}
	for _, key := range keys {
		t.keys = append(t.keys, column{key, "String"})
	}
	t.keys = append(t.keys, column{"place", "FixedString(20)"})
	t.values = valuesOf(func(into []any, r R) ([]any, error) {
		into, placed := values(into, r)
		return append(into, placed.Block, warehouse.TimeOrNull(placed.At), placed.Withdrawn), nil
	})
	return t
}
