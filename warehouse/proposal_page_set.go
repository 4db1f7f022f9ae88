package warehouse

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	chcolumn "github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse/record"
)

// boundParameter matches a bound parameter of a condition: its name and its type.
var boundParameter = regexp.MustCompile(`\{(\w+):([^}]+)\}`)

// wantedColumn begins the columns of bound values in the table of wanted pages, so that they
// differ from those of the list.
const wantedColumn = "wanted_"

// listVersionsOfSet is listVersions for several pages whose conditions differ in their bound
// values alone: these are columns of a table, one row a page. It reads the versions of the
// list once for all pages, and then the rows that they show.
func (w *Warehouse) listVersionsOfSet(
	ctx context.Context, condition, order string, limit int, pages [][]any,
) ([][]ListedProposal, error) {
	wanted, constants, err := wantedPages(condition, pages)
	inColumns := boundParameter.ReplaceAllStringFunc(condition, func(parameter string) string {
		name := boundParameter.FindStringSubmatch(parameter)[1]
		if isConstant(name) {
			return parameter
		}
		return wantedColumn + name
	})
	type row struct {
		Page     uint32
		Ref      record.RefHash `ch:"proposal_ref"`
		Revision uint64
	}
	result, err := w.queryWith(ctx, wanted, err, fmt.Sprintf(sqlText("proposal_page_set"), inColumns, order),
		append(constants, clickhouse.Named("limit", limit))...)
	places, err := selectRows[row](result, err, "read the versions of pages")
	if err != nil {
		return nil, err
	}
	versions := make([]rowVersion, len(places))
	for i, place := range places {
		versions[i] = rowVersion{place.Ref, place.Revision}
	}
	rows, err := w.listedRows(ctx, versions)
	found := make([][]ListedProposal, len(pages))
	for i, place := range places {
		found[place.Page] = append(found[place.Page], rows[versions[i]])
	}
	return found, err
}

// isConstant reports whether a bound value is the same in all conditions.
func isConstant(name string) bool { return name == bindUnknownTime().Name }

// wantedPages returns the bound values of conditions as the external table "wanted_pages", and
// those that are the same in all of them.
func wantedPages(condition string, pages [][]any) (table *ext.Table, constants []any, err error) {
	columns := []func(*ext.Table) error{ext.Column("page", "UInt32")}
	var names []string
	for _, parameter := range boundParameter.FindAllStringSubmatch(condition, -1) {
		if name, kind := parameter[1], parameter[2]; !isConstant(name) && !slices.Contains(names, name) {
			names = append(names, name)
			columns = append(columns, ext.Column(wantedColumn+name, chcolumn.Type(kind)))
		}
	}
	page := uint32(0)
	table, err = externalTable("wanted_pages", pages, func(args []any) []any {
		values := []any{page}
		page++
		for _, name := range names {
			values = append(values, boundValue(args, name))
		}
		return values
	}, columns...)
	for _, arg := range pages[0] {
		if named, is := arg.(driver.NamedValue); is && isConstant(named.Name) {
			constants = append(constants, named)
		}
	}
	return table, constants, err
}

func boundValue(args []any, name string) any {
	for _, arg := range args {
		if named, is := arg.(driver.NamedValue); is && named.Name == name {
			return named.Value
		}
	}
	return nil
}

// rowVersion identifies a row of the list.
type rowVersion struct {
	Ref      record.RefHash `ch:"proposal_ref"`
	Revision uint64
}

// listedRows returns rows of the list, current or not.
func (w *Warehouse) listedRows(ctx context.Context, versions []rowVersion) (map[rowVersion]ListedProposal, error) {
	wanted, err := externalTable("wanted_versions", versions,
		func(v rowVersion) []any { return []any{string(v.Ref[:]), v.Revision} },
		ext.Column("proposal_ref", "FixedString(16)"), ext.Column("revision", "UInt64"))
	sql := fmt.Sprintf(sqlText("listed_proposal_rows"),
		"(proposal_ref, revision) IN (SELECT proposal_ref, revision FROM wanted_versions)",
		"proposal_ref, revision", "1 BY proposal_ref, revision")
	result, err := w.queryWith(ctx, wanted, err, sql)
	rows, err := selectRows[ListedProposal](result, err, "read rows of the list")
	found := make(map[rowVersion]ListedProposal, len(rows))
	for _, row := range rows {
		found[rowVersion{row.Ref, row.Revision}] = row
	}
	return found, err
}

// listedVersionsOfSet is ListedVersions for several lists of references: each gets the
// versions of all.
func (w *Warehouse) listedVersionsOfSet(
	ctx context.Context, lists [][]record.RefHash,
) ([]map[record.RefHash]ListedVersion, error) {
	versions, err := w.ListedVersions(ctx, slices.Concat(lists...))
	return slices.Repeat([]map[record.RefHash]ListedVersion{versions}, len(lists)), err
}
