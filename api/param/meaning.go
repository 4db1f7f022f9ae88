package param

import (
	"slices"
	"strings"
	"time"

	"pnyx/governance"
)

// meantParameters maps names from other APIs to the parameters that they stand for; the first that a route has
// counts.
var meantParameters = map[string][]string{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	"status": {"lifecycleStatus"}, "state": {"lifecycleStatus"}, "phase": {"lifecycleStatus"}, "lifecycle": {"lifecycleStatus"},
	"isactive": {"lifecycleStatus"}, "active": {"lifecycleStatus"},
	"result": {"outcome"}, "verdict": {"outcome"},
	"dao": {"daoId"}, "space": {"daoId"}, "org": {"daoId"}, "organization": {"daoId"}, "spaceid": {"daoId"},
	"author": {"proposerId"}, "proposer": {"proposerId"}, "creator": {"proposerId"},
	"source": {"provider"}, "platform": {"provider"},
	"search": {"q", "title", "url"}, "query": {"q", "title", "url"}, "q": {"title"}, "title": {"q"}, "name": {"q", "title"}, "text": {"q", "title"},
	"id": {"externalId"}, "proposalid": {"externalId"}, "link": {"url"}, "address": {"url"},
	"pagesize": {"limit"}, "per_page": {"limit"}, "perpage": {"limit"}, "size": {"limit"}, "first": {"limit"}, "count": {"limit"}, "max": {"limit"},
	"page": {"cursor"}, "offset": {"cursor"}, "skip": {"cursor"}, "after": {"cursor", "from"}, "next": {"cursor"},
	"since": {"from", "updatedFrom", "fromMonth"}, "start": {"from", "updatedFrom", "fromMonth"}, "startdate": {"from", "updatedFrom", "fromMonth"},
	"until": {"to", "updatedTo", "toMonth"}, "before": {"to", "updatedTo", "toMonth"}, "end": {"to", "updatedTo", "toMonth"}, "enddate": {"to", "updatedTo", "toMonth"},
	"order": {"sort"}, "orderby": {"sort", "order"}, "sortby": {"sort", "order"}, "sort": {"order"}, "order_by": {"sort", "order"},
	"type": {"eventType", "signalType", "kind"}, "types": {"eventType", "signalType", "kind"}, "kind": {"eventType", "signalType"},
	"importance": {"importanceMin"}, "priority": {"priorityMin"}, "spam": {"flagged"},
}

// meantValues are words that callers know from other APIs, with the values that they stand for.
var meantValues = map[string][]string{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	"open": {"active"}, "live": {"active"}, "ongoing": {"active"}, "voting": {"active"}, "started": {"active"},
	"ended": {"closed"}, "finished": {"closed"}, "done": {"closed"}, "past": {"closed"}, "completed": {"closed"},
	"upcoming": {"pending"}, "scheduled": {"pending"}, "future": {"pending"}, "queued": {"pending", "passed"},
	"succeeded": {"passed"}, "accepted": {"passed"}, "approved": {"passed"}, "won": {"passed"},
	"defeated": {"failed"}, "rejected": {"failed"}, "lost": {"failed"}, "expired": {"failed"},
	"cancelled": {"canceled"}, "enacted": {"executed"},
	"newest": {"createdDesc", "time"}, "latest": {"updatedDesc", "time"}, "recent": {"updatedDesc", "time"},
	"ending": {"endingSoon"}, "deadline": {"endingSoon", "deadlineAsc"}, "replies": {"repliesDesc"},
	"votingpower": {"power"}, "vp": {"power"}, "date": {"time", "updatedDesc"}, "recentlyended": {"endedDesc"},
}

// meantPaths are paths for what callers know from other APIs as a parameter.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var meantPaths = map[string]string{
	"format": "/v2/daos/:daoId/export/:part", "since": "/v2/changes", "updatedsince": "/v2/changes", "changedsince": "/v2/changes",
	"includevotes": "/v2/proposals/:proposalKey/votes", "includelive": "/v2/proposals/:proposalKey/votes/summary",
	"includeintelligence": "/v2/proposals/:proposalKey/evidence",
	"status":              "/v2/proposals?lifecycleStatus=", "lifecyclestatus": "/v2/proposals?lifecycleStatus=",
}

// MeantPath returns the path for what a parameter stands for; empty for none.
func MeantPath(name string) string { return meantPaths[strings.ToLower(name)] }

// IsOfPages reports whether a parameter is known from other APIs to select a page.
func IsOfPages(name string) bool {
	meant := meantParameters[strings.ToLower(name)]
	return name == "limit" || name == "cursor" || slices.Contains(meant, "limit") || slices.Contains(meant, "cursor") && len(meant) == 1
}

// MeantParameter returns the known parameter that a name stands for; empty for none.
func MeantParameter(name string, known []string) string {
	return firstOf(meantParameters[strings.ToLower(name)], known)
}

// firstOf returns the first candidate that is in a set; empty for none.
func firstOf(candidates, set []string) string {
	for _, candidate := range candidates {
		if slices.Contains(set, candidate) {
			return candidate
		}
	}
	return ""
}

// MeantValue returns the value of a set that a word stands for; empty for none.
func MeantValue(word string, set []string) string {
	return firstOf(meantValues[strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))], set)
}

// meantInstant returns the time that a text stands for: a day in another spelling, seconds or
// milliseconds since 1970, a time without its zone or with a space, or one whose + was not escaped and arrives as a space.
func meantInstant(text string) (at governance.Timestamp, found bool) {
	// Other spellings of days, months and years, which may be numbers.
	for _, layout := range []string{"20060102", "20060102T150405Z0700", "2006-1-2", "2006/1/2", "2006-01", "2006"} {
		if at, err := time.Parse(layout, text); err == nil {
			meant, err := governance.ParseTimestamp(at.Format(time.RFC3339))
			return meant, err == nil
		}
	}
	if at, err := governance.ParseUnix(text); err == nil {
		return at, true
	}
	const day, zone = len(time.DateOnly), len("+00:00")
	form := []byte(strings.ToUpper(text))
	if len(form) > day && form[day] == ' ' {
		form[day] = 'T'
	}
	if sign := len(form) - zone; sign > day && form[sign] == ' ' {
		form[sign] = '+'
	}
	for _, end := range []string{"", "Z", ":00Z"} {
		if at, err := governance.ParseTimestamp(string(form) + end); err == nil {
			return at, true
		}
	}
	return 0, false
}
