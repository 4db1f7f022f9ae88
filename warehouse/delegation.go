package warehouse

import (
	"pnyx/warehouse/record"
)

func delegationTable() table {
	return placedTable(record.KindDelegation, []string{"scope", "delegator"}, []string{"delegates", "shares"},
		func(into []any, r record.Record) ([]any, *record.Placed, error) {
			d, err := recordAs[*record.Delegation](r)
			if err != nil {
				return nil, nil, err
			}
			return append(into, nonNilTexts(d.Delegates), nonNilDecimals(d.Shares)), &d.Placed, nil
		})
}

func delegatePowerTable() table {
	return placedTable(record.KindDelegatePower, []string{"scope", "delegate"}, []string{"power"},
		func(into []any, r record.Record) ([]any, *record.Placed, error) {
			d, err := recordAs[*record.DelegatePower](r)
			if err != nil {
				return nil, nil, err
			}
			return append(into, d.Power), &d.Placed, nil
		})
}

func tokenSupplyTable() table {
	return placedTable(record.KindTokenSupply, []string{"scope"}, []string{"supply"},
		func(into []any, r record.Record) ([]any, *record.Placed, error) {
			s, err := recordAs[*record.TokenSupply](r)
			if err != nil {
				return nil, nil, err
			}
			return append(into, s.Supply), &s.Placed, nil
		})
}

// placedTable describes a table whose keys end with a place, with columns of its own before
// those of the place.
func placedTable(
	kind record.Kind, keys, columns []string, values func(into []any, r record.Record) ([]any, *record.Placed, error),
) table {
	t := table{kind: kind, columns: append(columns, "block", "at", "withdrawn")}
	for _, key := range keys {
		t.keys = append(t.keys, column{key, "String"})
	}
	t.keys = append(t.keys, column{"place", "FixedString(20)"})
	t.values = func(into []any, r record.Record) ([]any, error) {
		into, placed, err := values(into, r)
		if err != nil {
			return nil, err
		}
		return append(into, placed.Block, timeOrNull(placed.At), placed.Withdrawn), nil
	}
	return t
}
