package pages

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// boundParameter matches a bound parameter of a condition: its name and its type.
var boundParameter = regexp.MustCompile(`\{(\w+):([^}]+)\}`)

// wantedColumn begins the columns of bound values in the table of wanted pages, so that they
// differ from the list's columns.
const wantedColumn = "wanted_"

// listVersionsOfSet is listVersions for several pages whose conditions differ in their bound
// values alone: these are columns of a table, one row a page. It reads the versions of the
// list once for all pages, and then the rows that they show, with their latest versions.
func listVersionsOfSet(
	ctx context.Context, w *warehouse.Warehouse, condition, order string, limit int, pages [][]any,
) ([]listedRange, error) {
	inColumns := boundParameter.ReplaceAllString(condition, wantedColumn+"$1")
	type row struct {
		Page uint32
		rowVersion
	}
	places, err := warehouse.Find[row](ctx, w, "read the versions of pages",
		fmt.Sprintf(sqlText("proposal_page_set"), inColumns, order),
		wantedPages(condition, pages), clickhouse.Named("limit", limit))
	found := make([]listedRange, len(pages))
	if err != nil || len(places) == 0 {
		return found, err
	}
	rows, latest, err := listedRows(ctx, w, warehouse.Values(places, func(place row) rowVersion { return place.rowVersion }))
	for i := range found {
		found[i].latest = latest
	}
	for _, place := range places {
		found[place.Page].rows = append(found[place.Page].rows, rows[place.rowVersion])
	}
	return found, err
}

// wantedPages returns the bound values of conditions as the external table "wanted_pages". All
// of them are columns, also one that is the same in all conditions: a constant is pushed to
// the shards as text, and they cannot read a time before 1970.
func wantedPages(condition string, pages [][]any) warehouse.Table {
	columns := []func(*ext.Table) error{ext.Column("page", "UInt32")}
	var names []string
	for _, parameter := range boundParameter.FindAllStringSubmatch(condition, -1) {
		if name, kind := parameter[1], parameter[2]; !slices.Contains(names, name) {
			names = append(names, name)
			columns = append(columns, ext.Column(wantedColumn+name, chcolumn.Type(kind)))
		}
	}
	page := uint32(0)
	return warehouse.ExternalTable("wanted_pages", pages, func(args []any) []any {
		values := []any{page}
		page++
		for _, name := range names {
			values = append(values, boundValue(args, name))
		}
		return values
	}, columns...)
}

func boundValue(args []any, name string) any {
	for _, arg := range args {
		if named, is := arg.(driver.NamedValue); is && named.Name == name {
			return named.Value
		}
	}
	return nil
}

type rowVersion struct {
	Ref      record.RefHash `ch:"proposal_ref"`
	Revision uint64
}

// listedRows returns all versions of listed proposals, and the latest of each.
func listedRows(
	ctx context.Context, w *warehouse.Warehouse, versions []rowVersion,
) (rows map[rowVersion]ListedProposal, latest map[record.RefHash]ListedVersion, err error) {
	refs := warehouse.Values(versions, func(version rowVersion) record.RefHash { return version.Ref })
	sql := fmt.Sprintf(sqlText("listed_proposal_rows"), "proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)",
		"proposal_ref, revision", "1 BY proposal_ref, revision")
	found, err := warehouse.Find[ListedProposal](ctx, w, "read rows of the list", sql, warehouse.RefTable(refs))
	rows, latest = make(map[rowVersion]ListedProposal, len(found)), make(map[record.RefHash]ListedVersion, len(refs))
	for _, row := range found {
		rows[rowVersion{row.Ref, row.Revision}] = row
		latest[row.Ref] = ListedVersion{DAOID: row.Identity.DAOID, Revision: row.Revision}
	}
	return rows, latest, err
}
