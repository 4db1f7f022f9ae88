package doc

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/api"
)

// cachingRow is what caches may keep of one route, as Markdown.
type cachingRow struct {
	// What is the id of the route, or names the other answers that the row is about.
	What string
	// Tier is who may read the answers.
	Tier api.Tier
	// Kept and Purged are the Cache-Control of answers with data, without and with
	// purges. Missing is that of a 404. Errors lists the statuses that no cache may
	// keep. Each is empty where there is none.
	Kept, Purged, Missing, Errors string
}

// reasonRow is a freshness, what has it, and why.
type reasonRow struct {
	names []string
	fresh api.Freshness
	// What lists the names of all that has the freshness.
	What string
	// MaxAge, SMaxAge, Purged, StaleWhileRevalidate and StaleIfError are the
	// durations of the freshness with their units; empty for zero.
	MaxAge, SMaxAge, Purged, StaleWhileRevalidate, StaleIfError string
	// Reason is why the numbers are what they are.
	Reason string
}

// CachingTable returns, as Markdown, the Cache-Control of every route and status, with
// the reason for each number.
func CachingTable() ([]byte, error) {
	documents, unknown, missing := api.DocumentFreshness(), api.UnknownPathFreshness(), api.MissingFreshness()
	const errors = "405, 408, 413, 414, 431, 500"
	var rows []cachingRow
	var reasons []*reasonRow
	for _, route := range api.Routes() {
		rows = append(rows, cachingRow{
			What: "`" + route.ID + "`", Tier: route.Tier,
			Kept: answerControl(route, route.Fresh.SMaxAge), Purged: answerControl(route, route.Fresh.PurgedSMaxAge),
			Missing: missingControl(route), Errors: otherErrors(route),
		})
		reasons = addReason(reasons, "`"+route.ID+"`", route.Fresh)
	}
	kept := quoted(documents.Public(documents.SMaxAge))
	rows = append(rows,
		cachingRow{What: "every document, and ways to it", Tier: api.Free, Kept: kept, Purged: kept, Errors: errors},
		cachingRow{What: "no such path", Tier: api.Free, Missing: quoted(unknown.Public(unknown.SMaxAge)), Errors: errors})
	reasons = addReason(reasons, "every document, and ways to it", documents)
	reasons = addReason(reasons, "no such path", unknown)
	reasons = addReason(reasons, "`404` of an id", missing)
	for _, r := range reasons {
		r.What, r.Reason = strings.Join(r.names, ", "), r.fresh.Reason
		r.MaxAge = formatDuration(r.fresh.MaxAge)
		r.SMaxAge = formatDuration(r.fresh.SMaxAge)
		r.Purged = formatDuration(r.fresh.PurgedSMaxAge)
		r.StaleWhileRevalidate = formatDuration(r.fresh.StaleWhileRevalidate)
		r.StaleIfError = formatDuration(r.fresh.StaleIfError)
	}
	return render("caching.md", map[string]any{"Rows": rows, "Reasons": reasons, "Paid": api.PrivateNoStore})
}

// addReason adds what to the row of its freshness. A route that nobody may cache has
// none.
func addReason(reasons []*reasonRow, what string, fresh api.Freshness) []*reasonRow {
	if fresh == (api.Freshness{}) {
		return reasons
	}
	i := slices.IndexFunc(reasons, func(r *reasonRow) bool { return r.fresh == fresh })
	if i < 0 {
		return append(reasons, &reasonRow{names: []string{what}, fresh: fresh})
	}
	reasons[i].names = append(reasons[i].names, what)
	return reasons
}

// answerControl is the Cache-Control of a route's answers with data, in caches that
// keep them for shared.
func answerControl(route api.Route, shared time.Duration) string {
	switch {
	case route.TokenOnly:
		return quoted(api.PrivateNoStore)
	case route.Paid():
		return quoted(route.Fresh.Private())
	}
	return quoted(route.Fresh.Public(shared))
}

// missingControl is the Cache-Control of a route's 404; empty where it has none.
func missingControl(route api.Route) string {
	fresh := api.MissingFreshness()
	switch {
	case !slices.Contains(route.Codes(), api.CodeNotFound):
		return ""
	case route.Paid():
		return quoted(fresh.Private())
	}
	return quoted(fresh.Public(fresh.SMaxAge))
}

// otherErrors lists the statuses of a route that no cache may keep.
func otherErrors(route api.Route) string {
	var names []string
	for _, status := range statuses(route) {
		if status != http.StatusNotFound {
			names = append(names, strconv.Itoa(status))
		}
	}
	return strings.Join(names, ", ")
}

// statuses lists the statuses of a route's errors in ascending order.
func statuses(route api.Route) []int {
	var all []int
	for _, code := range route.Codes() {
		all = append(all, code.Info().Status)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// formatDuration writes a duration in its largest whole unit; zero is empty.
func formatDuration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	case d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	}
	return strconv.Itoa(int(d/time.Second)) + " s"
}
