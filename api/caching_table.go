package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CachingTable returns, as Markdown, what every route and status lets caches keep,
// with the reason beside each number.
func CachingTable() []byte {
	var text bytes.Buffer
	text.WriteString("# What caches may keep\n\nMade by `make docs`.\n\n## Every route and status\n\n" +
		"\"Purged\" is with `PNYX_PURGE_KIND` set. An answer that is not `ready`, or that time alone will outdate sooner, " +
		"is kept for no longer than an unpurged one. A 304 says what its 200 would.\n\n" +
		"| route | tier | `200`, `304` | purged | `404` | other errors, `no-store` |\n|---|---|---|---|---|---|\n")
	var reasons []reason
	for _, route := range Routes() {
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s | %s |\n", route.ID, route.Tier, keptControl(route, route.Fresh.SMaxAge),
			keptControl(route, route.Fresh.PurgedSMaxAge), missingControl(route), otherErrors(route))
		reasons = addReason(reasons, "`"+route.ID+"`", route.Fresh)
	}
	for _, path := range []string{"every document, and ways to it", "no such path"} {
		fresh := documentFreshness()
		kept, missing := "`"+fresh.public(fresh.SMaxAge)+"`", ""
		if path == "no such path" {
			fresh = unknownPathFreshness()
			kept, missing = "", "`"+fresh.public(fresh.SMaxAge)+"`"
		}
		fmt.Fprintf(&text, "| %s | free | %s | %s | %s | 405, 408, 413, 414, 431, 500 |\n", path, kept, kept, missing)
		reasons = addReason(reasons, path, fresh)
	}
	text.WriteString("\nWhat a payment has bought, a 404 too, is `" + privateNoStore + "`: it is answered once.\n\n## Why these numbers\n\n" +
		"| what | caller | shared | purged | while renewed | while we fail | why |\n|---|---|---|---|---|---|---|\n")
	reasons = addReason(reasons, "`404` of an id", missingFreshness())
	for _, r := range reasons {
		f := r.fresh
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s |\n", strings.Join(r.what, ", "),
			formatDuration(f.MaxAge), formatDuration(f.SMaxAge), formatDuration(f.PurgedSMaxAge), formatDuration(f.StaleWhileRevalidate), formatDuration(f.StaleIfError), f.Reason)
	}
	text.WriteString(cachingNotes)
	return text.Bytes()
}

const cachingNotes = "\n" + `Of paid routes, "shared" is for an edge that has every request authorized by us, and for no other.

## What else tells caches what to do

| header | |
|---|---|
| ` + "`ETag`" + ` | weak: the revision, the request in any spelling, and whether the answer is stale; ` + "`If-None-Match`" + ` with it is a 304, which costs no quota and no payment |
| ` + "`Vary`" + ` | ` + "`Accept-Encoding`" + `; on paid routes the token and the payment too, but not for internal callers |
| ` + "`Surrogate-Key`, `Cache-Tag`" + ` | ` + "`all`" + `, and what the answer is made from: ` + "`dao:ID`, `proposal:KEY`, `topic:KEY`, `voter:ID`, `daos`, `data-status`, `pricing`" + `, and a list by its name, ` + "`proposals`" + ` or of one DAO ` + "`proposals:ID`" + ` |
| ` + "`Content-Location`" + ` | the one spelling of what was asked, when it was asked in another |
| ` + "`Cache-Status`" + ` | which layers were asked (RFC 9211): ` + "`pnyx-redis`" + `, where ` + "`detail=fill`" + ` is a page that a worker has just made, and the node's own copies, ` + "`pnyx-node`" + ` |
| ` + "`Age`" + ` | none from us: a node's copy lasts less than the second in which ages are counted, and what Redis holds is the answer, not a copy of it. Caches in front add theirs |
`

// errorName is what shares one freshness.
type reason struct {
	what  []string
	fresh Freshness
}

func addReason(reasons []reason, what string, fresh Freshness) []reason {
	if fresh == (Freshness{}) {
		return reasons
	}
	i := slices.IndexFunc(reasons, func(r reason) bool { return r.fresh == fresh })
	if i < 0 {
		return append(reasons, reason{[]string{what}, fresh})
	}
	reasons[i].what = append(reasons[i].what, what)
	return reasons
}

// keptControl is the Cache-Control of a route's answers with data.
func keptControl(route Route, shared time.Duration) string {
	switch {
	case route.TokenOnly:
		return "`" + privateNoStore + "`"
	case route.Paid():
		return "`" + route.Fresh.private() + "`"
	}
	return "`" + route.Fresh.public(shared) + "`"
}

func missingControl(route Route) string {
	fresh := missingFreshness()
	switch {
	case !slices.Contains(route.Codes(), CodeNotFound):
		return ""
	case route.Paid():
		return "`" + fresh.private() + "`"
	}
	return "`" + fresh.public(fresh.SMaxAge) + "`"
}

// otherErrors lists the statuses that nobody keeps.
func otherErrors(route Route) string {
	var names []string
	for _, status := range statuses(route) {
		if status != http.StatusNotFound {
			names = append(names, strconv.Itoa(status))
		}
	}
	return strings.Join(names, ", ")
}

// formatDuration writes a duration as people read it.
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
