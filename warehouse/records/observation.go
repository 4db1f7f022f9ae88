package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func observationTable() table {
	return table{
		kind:    record.KindObservation,
		keys:    []column{{"proposal_ref", "FixedString(16)"}},
		columns: []string{"payload", "block", "at", "addresses", "simulation", "earlier"},
		values: valuesOf(func(into []any, o *record.Observation) ([]any, error) {
			addresses, err := json.Marshal(o.Addresses)
			simulation, err2 := json.Marshal(o.Simulation)
			earlier, err3 := json.Marshal(o.Earlier)
			if err := errors.Join(err, err2, err3); err != nil {
				return nil, fmt.Errorf("encode an observation: %w", err)
			}
			return append(into, o.Payload, o.Block, o.At.Time(), string(addresses), string(simulation), string(earlier)), nil
		}),
	}
}

// Observation is a stored observation.
type Observation struct {
	record.Observation
	ObservedAt governance.Timestamp
}

// Observations returns what nodes showed of proposals, by proposal; a proposal of which nothing is stored is missing.
func Observations(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]Observation, error) {
	type row struct {
		Payload                        string
		Block                          uint64
		At, ObservedAt                 governance.Timestamp
		Addresses, Simulation, Earlier string
	}
	rows, err := warehouse.FindBy[record.RefHash, row](ctx, w, "read what nodes showed of proposals",
		"SELECT proposal_ref, payload, block, at, observed_at, addresses, simulation, earlier FROM observations FINAL "+
			"WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)", warehouse.RefTable(refs))
	found := map[record.RefHash]Observation{}
	for ref, r := range rows {
		o := Observation{Observation: record.Observation{Payload: r.Payload, Block: r.Block, At: r.At}, ObservedAt: r.ObservedAt}
		if err := errors.Join(json.Unmarshal([]byte(r.Addresses), &o.Addresses), json.Unmarshal([]byte(r.Simulation), &o.Simulation),
			json.Unmarshal([]byte(r.Earlier), &o.Earlier)); err != nil {
			return nil, fmt.Errorf("read what nodes showed of a proposal: %w", err)
		}
		found[ref] = o
	}
	return found, err
}
