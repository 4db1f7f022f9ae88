package records

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// daoTable describes the table of DAOs that a registry declares.
func daoTable() table {
	return table{
		kind:    record.KindDAO,
		keys:    []column{{"dao_id", "String"}},
		columns: []string{"name", "source_providers", "source_ids", "tokens", "contract_ids", "contract_names", "contract_functions"},
		values: valuesOf(func(into []any, dao *record.DAO) ([]any, error) {
			providers, ids := splitRefs(dao.Sources)
			return append(into, dao.Name, providers, ids, warehouse.NonNilTexts(dao.Tokens),
				warehouse.Values(dao.Contracts, func(c record.Contract) string { return c.ID }),
				warehouse.Values(dao.Contracts, func(c record.Contract) string { return c.Name }),
				warehouse.Values(dao.Contracts, func(c record.Contract) []string { return warehouse.NonNilTexts(c.Functions) })), nil
		}),
	}
}

// Contracts returns the contracts that DAOs name, by DAO.
func Contracts(ctx context.Context, w *warehouse.Warehouse, daoIDs []string) (map[string][]record.Contract, error) {
	return warehouse.FindGroups[string, record.Contract](ctx, w, "read the contracts of DAOs", sqlText("source_contracts"),
		clickhouse.Named("daos", daoIDs))
}

func sourceTable() table {
	return table{
		kind:    record.KindSource,
		keys:    []column{{"provider", "String"}, {"source_id", "String"}},
		columns: []string{"name", "slug", "network", "symbol", "flagged", "token"},
		values: valuesOf(func(into []any, source *record.Source) ([]any, error) {
			return append(into, source.Name, source.Slug, source.Network, source.Symbol, source.Flagged, source.Token), nil
		}),
	}
}

func categoryTable() table {
	return table{
		kind:    record.KindCategory,
		keys:    []column{{"host", "String"}, {"category_id", "String"}},
		columns: []string{"name", "slug", "restricted"},
		values: valuesOf(func(into []any, category *record.Category) ([]any, error) {
			return append(into, category.Name, category.Slug, category.Restricted), nil
		}),
	}
}

// splitRefs returns source references as parallel arrays, the form of their columns.
func splitRefs(refs []record.SourceRef) (providers, ids []string) {
	providers, ids = make([]string, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		providers[i], ids[i] = string(ref.Provider), ref.ID
	}
	return providers, ids
}

// joinRefs is the reverse of splitRefs.
func joinRefs(providers, ids []string) []record.SourceRef {
	refs := make([]record.SourceRef, len(ids))
	for i, id := range ids {
		refs[i] = record.SourceRef{Provider: governance.Provider(providers[i]), ID: id}
	}
	return refs
}
