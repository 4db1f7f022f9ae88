package reference

import (
	"slices"
	"strings"
	"time"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
)

// cachingRow is what caches may keep of answers with one freshness, as Markdown.
type cachingRow struct {
	// What lists the routes and other answers.
	What string
	// Kept and Purged are the Cache-Control of data without and with purges, Missing of a 404; empty for none.
	Kept, Purged, Missing string
	// Reason is why the numbers are what they are.
	Reason string
}

// CachingTable returns, as Markdown, every route's Cache-Control and why.
func CachingTable() ([]byte, error) {
	documents, unknown := httpcache.Document(), httpcache.UnknownPath()
	var rows []cachingRow
	for _, route := range routes.All() {
		rows = addRow(rows, cachingRow{
			What: quoted(route.ID), Kept: answerControl(route, route.Fresh.SMaxAge), Purged: answerControl(route, route.Fresh.PurgedSMaxAge),
			Missing: missingControl(route), Reason: route.Fresh.Reason,
		})
	}
	kept := quoted(documents.Public(documents.SMaxAge))
	rows = append(rows,
		cachingRow{What: "every document, and ways to it", Kept: kept, Purged: kept, Reason: documents.Reason},
		cachingRow{What: "no such path", Missing: quoted(unknown.Public(unknown.SMaxAge)), Reason: unknown.Reason})
	first := map[string]string{} // the route that a reason is given at
	for i, row := range rows {
		if route, given := first[row.Reason]; given && row.Reason != "" {
			rows[i].Reason = "as " + route
			continue
		}
		first[row.Reason], _, _ = strings.Cut(row.What, ", ")
	}
	return render("caching.md", map[string]any{"Rows": rows, "Missing": httpcache.Missing().Reason, "Paid": httpcache.PrivateNoStore})
}

// addRow adds a row, to the one that differs from it only in what it is about if there is one.
func addRow(rows []cachingRow, row cachingRow) []cachingRow {
	for i, other := range rows {
		other.What = row.What
		if other == row {
			rows[i].What += ", " + row.What
			return rows
		}
	}
	return append(rows, row)
}

// answerControl is the Cache-Control of a route's data, in caches that keep it for shared.
func answerControl(route routes.Route, shared time.Duration) string {
	switch {
	case route.TokenOnly:
		return quoted(httpcache.PrivateNoStore)
	case route.Paid():
		return quoted(route.Fresh.Private())
	}
	return quoted(route.Fresh.Public(shared))
}

// missingControl is the Cache-Control of a route's 404; empty where it has none.
func missingControl(route routes.Route) string {
	fresh := httpcache.Missing()
	switch {
	case !slices.Contains(route.Codes(), apierror.CodeNotFound):
		return ""
	case route.Paid():
		return quoted(fresh.Private())
	}
	return quoted(fresh.Public(fresh.SMaxAge))
}

// quoted lists values as Markdown code.
func quoted(values ...string) string { return "`" + strings.Join(values, "`, `") + "`" }
