package api

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"pnyx/governance"
)

// meantParameters are names that callers know from other APIs, with the parameters that they
// stand for; the first that a route has counts.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var meantParameters = map[string][]string{
	"status": {"lifecycleStatus"}, "state": {"lifecycleStatus"}, "phase": {"lifecycleStatus"}, "lifecycle": {"lifecycleStatus"},
	"result": {"outcome"}, "verdict": {"outcome"},
	"dao": {"daoId"}, "space": {"daoId"}, "org": {"daoId"}, "organization": {"daoId"}, "spaceid": {"daoId"},
	"author": {"proposerId"}, "proposer": {"proposerId"}, "creator": {"proposerId"},
	"source": {"provider"}, "platform": {"provider"},
	"search": {"q", "title", "url"}, "query": {"q", "title", "url"}, "title": {"q"}, "name": {"q", "title"}, "text": {"q", "title"},
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
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var meantValues = map[string][]string{
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

// meantPaths are paths that callers know from other APIs, or expect, with those that they stand for.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var meantPaths = [][2]string{
	{"/v2/daos/:daoId/proposals", "/v2/proposals?daoId=:daoId"},
	{"/v2/daos/:daoId/topics", "/v2/forum-topics?daoId=:daoId"},
	{"/v2/daos/:daoId/forum-topics", "/v2/forum-topics?daoId=:daoId"},
	{"/v2/daos/:daoId/events", "/v2/events?daoId=:daoId"},
	{"/v2/daos/:daoId/signals", "/v2/signals?daoId=:daoId"},
	{"/v2/daos/:daoId/changes", "/v2/changes?daoId=:daoId"},
	{"/v2/daos/:daoId/status", "/v2/meta/data-status?daoId=:daoId"},
	{"/v2/daos/:daoId/members", "/v2/daos/:daoId/voters"},
	{"/v2/daos/:daoId/proposals/:proposalKey", "/v2/proposals/:proposalKey"},
	{"/v2/proposals/:proposalKey/ballots", "/v2/proposals/:proposalKey/votes"},
	{"/v2/proposals/:proposalKey/voters", "/v2/proposals/:proposalKey/votes"},
	{"/v2/proposals/:proposalKey/summary", "/v2/proposals/:proposalKey/votes/summary"},
	{"/v2/proposals/:proposalKey/result", "/v2/proposals/:proposalKey/votes/summary"},
	{"/v2/proposals/:proposalKey/results", "/v2/proposals/:proposalKey/votes/summary"},
	{"/v2/proposals/:proposalKey/dossier", "/v2/proposals/:proposalKey/evidence"},
	{"/v2/proposals/:proposalKey/export", "/v2/proposals/:proposalKey/votes/export"},
	{"/v2/voters/:voterIdentity/ballots", "/v2/voters/:voterIdentity/votes"},
	{"/v2/voters/:voterIdentity/history", "/v2/voters/:voterIdentity/votes"},
	{"/v2/topics", "/v2/forum-topics"},
	{"/v2/topics/:topicKey", "/v2/forum-topics/:topicKey"},
	{"/v2/spaces", "/v2/daos"},
	{"/v2/spaces/:daoId", "/v2/daos/:daoId"},
	{"/v2/organizations", "/v2/daos"},
	{"/v2/search", "/v2/proposals?q="},
	{"/v2/resolve", "/v2/proposals/resolve"},
	{"/v2/pricing", "/v2/meta/pricing"},
	{"/v2/usage", "/v2/meta/usage"},
	{"/v2/status", "/v2/meta/data-status"},
	{"/v2/data-status", "/v2/meta/data-status"},
}

// meantParameter returns the known parameter that a name stands for; empty for none.
func meantParameter(name string, known []string) string {
	for _, candidate := range meantParameters[strings.ToLower(name)] {
		if slices.Contains(known, candidate) {
			return candidate
		}
	}
	return ""
}

// meantValue returns the value of a set that a word stands for; empty for none.
func meantValue(word string, set []string) string {
	word = strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
	for _, candidate := range meantValues[word] {
		if slices.Contains(set, candidate) {
			return candidate
		}
	}
	return ""
}

// plainValue matches a value that is shown to a caller as it came.
var plainValue = regexp.MustCompile(`^[\w.,:-]{1,100}$`)

// nameMeant completes the problem with an unknown parameter whose meaning is known: it says
// which parameter to use, with the value that was given where that is one.
func (r *Route) nameMeant(problem *Problem, name, given string) *Problem {
	meant := meantParameter(name, r.queryNames())
	if meant == "" {
		return problem
	}
	problem.Message = "is not a parameter of this endpoint, did you mean " + meant + "?"
	problem.Fix = "use " + meant + " instead"
	i := slices.IndexFunc(r.Params, func(p Param) bool { return p.Name == meant })
	if param := r.Params[i]; param.Kind != Cursor && plainValue.MatchString(given) {
		if value := meantValue(given, param.Enum); value != "" {
			given = value
		}
		if _, problem := param.read(map[string]string{meant: given}); problem != nil {
			return &Problem{
				Parameter: name, Given: given, Message: "is not a parameter of this endpoint, did you mean " + meant + "?",
				Allowed: allowedNames(r.queryNames()), Fix: "use " + meant + " instead, with " + param.Allowed(),
			}
		}
		problem.Fix = "use " + meant + "=" + given + " instead"
	}
	return problem
}

// meantPath returns the path that another one stands for, with its parameters; empty for none.
func meantPath(path string) string {
	if len(path) > MaxTextBytes {
		return ""
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, meant := range meantPaths {
		if values, matches := matchPath(parts, strings.Split(strings.Trim(meant[0], "/"), "/")); matches {
			return values.Replace(meant[1])
		}
	}
	return ""
}

// matchPath reports whether parts of a path match a pattern, in any case of letters, and
// returns what replaces the pattern's parameters.
func matchPath(parts, pattern []string) (*strings.Replacer, bool) {
	if len(parts) != len(pattern) {
		return nil, false
	}
	var values []string
	for i, part := range pattern {
		switch {
		case strings.HasPrefix(part, ":"):
			text, err := url.PathUnescape(parts[i])
			if err != nil {
				return nil, false
			}
			values = append(values, part, url.QueryEscape(governance.Shorten(text, MaxTextBytes)))
		case !strings.EqualFold(part, parts[i]):
			return nil, false
		}
	}
	return strings.NewReplacer(values...), true
}
