package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/governance/query"
)

// list answers with one page of the tool's route, or with its only answer.
func list(c *call) ([]byte, error) {
	reads, answers, err := c.get(c.tool.Routes[0])
	if err != nil {
		return nil, err
	}
	if answers[0].Meta.Page == nil {
		return envelope(answers[0].Data, answers[0].Meta), nil
	}
	rows, meta, err := c.page(reads[0], answers[0], maxStructured-metaRoom)
	if err != nil {
		return nil, err
	}
	return envelope(rows, meta), nil
}

// listEvents lists events. Events of unknown time did not happen in the window, as far as is known: they are left out
// unless asked for, and counted. Pages may thus be short; those without any are passed over.
func listEvents(c *call) ([]byte, error) {
	if c.args[argDiscovered] == "true" || c.args["timeBasis"] == string(query.EventTimeDiscovered) {
		return list(c)
	}
	reads, answers, err := c.get(routeEvents)
	if err != nil {
		return nil, err
	}
	read, answer, cursor, limit, out := reads[0], answers[0], c.args["cursor"], answers[0].Meta.Page.Limit, 0
	for pages := 1; ; pages++ {
		all := elements(answer.Data)
		kept := slices.DeleteFunc(slices.Clone(all), isDiscovered)
		array, fitting := c.shape().fit(kept, maxStructured-metaRoom)
		switch {
		case fitting == 0 && len(kept) > 0:
			return nil, read.Refuse(c.tooLarge(len(kept[0])))
		case fitting < len(kept): // read again with fewer rows, so that its cursor goes on after the last one
			end := slices.IndexFunc(all, func(row json.RawMessage) bool { return &row[0] == &kept[fitting][0] })
			if answer, err = read.GetPage(cursor, end); err != nil {
				return nil, err
			}
			continue
		}
		answer.Data, out = array, out+len(all)-len(kept)
		next := answer.Meta.Page.NextCursor
		if len(kept) > 0 || next == nil || pages >= eventPages {
			break
		}
		cursor = *next
		if answer, err = read.GetPage(cursor, limit); err != nil {
			return nil, err
		}
	}
	answer.Meta.Page = c.pageOf(*answer.Meta.Page, limit)
	if out > 0 {
		answer.Meta.Hint = strconv.Itoa(out) + " events are left out: when they happened is unknown, and they were first seen in this window; " +
			argDiscovered + "=true lists them"
	}
	return envelope(answer.Data, answer.Meta), nil
}

// eventPages bounds the pages that one call reads.
const eventPages = 10

// isDiscovered reports whether the own time of an event is unknown.
func isDiscovered(row json.RawMessage) bool {
	var event struct {
		Confidence governance.Confidence `json:"eventTimeConfidence"`
	}
	_ = json.Unmarshal(row, &event) // it is as the route says
	return event.Confidence == governance.DiscoveredTime
}

// daosPerPage is how many DAOs are read at once to search through all of them.
const daosPerPage = 100

// findDAOs lists DAOs. With a name it looks through the whole directory: all pages are part of one read.
func findDAOs(c *call) ([]byte, error) {
	name := strings.ToLower(c.args[argName])
	if name == "" {
		return list(c)
	}
	limit, _ := strconv.Atoi(c.args["limit"]) // parsed before
	c.args = maps.Clone(c.args)
	c.args["limit"] = strconv.Itoa(daosPerPage)
	reads, answers, err := c.get(routeDAOs)
	if err != nil {
		return nil, err
	}
	read, answer, cursor := reads[0], answers[0], c.args["cursor"]
	meta, found, size := answer.Meta, []json.RawMessage{}, 0
	meta.Page = &routes.Page{Limit: limit}
	for {
		last := -1 // the row of this page after which the next page begins
		for at, row := range elements(answer.Data) {
			if !isNamed(row, name) {
				continue
			}
			if size += len(row) + 1; len(found) == limit || size > maxStructured-metaRoom {
				meta.Page.HasMore = true
				if last < 0 {
					meta.Page.NextCursor = &cursor
				} else if answer, err = read.GetPage(cursor, last+1); err != nil {
					return nil, err
				} else {
					meta.Page.NextCursor = answer.Meta.Page.NextCursor
				}
				return envelope(encode(found), meta), nil
			}
			found, last = append(found, row), at
		}
		if answer.Meta.Page.NextCursor == nil {
			return envelope(encode(found), meta), nil
		}
		cursor = *answer.Meta.Page.NextCursor
		if answer, err = read.GetPage(cursor, daosPerPage); err != nil {
			return nil, err
		}
	}
}

// isNamed reports whether the name or id of a DAO contains a text in lower case.
func isNamed(row []byte, text string) bool {
	var dao struct {
		ID   string `json:"daoId"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal(row, &dao) // it is as the route says
	return strings.Contains(strings.ToLower(dao.ID), text) || strings.Contains(strings.ToLower(dao.Name), text)
}

// getDAO answers with a DAO and, where a metric is named, its timeline.
func getDAO(c *call) ([]byte, error) {
	routes := []string{routeDAO}
	if c.args[argTimeline] != "" {
		routes = append(routes, routeTimeline)
	} else if month := cmp.Or(c.args["fromMonth"], c.args["toMonth"]); month != "" {
		return nil, c.reader.Read(routeDAO).Refuse(api.ArgumentError(param.Problem{
			Parameter: argTimeline, Message: "is required with fromMonth or toMonth", Allowed: "one of " + strings.Join(governance.TimelineMetrics(), ", "),
		}))
	}
	_, answers, err := c.get(routes...)
	if err != nil {
		return nil, err
	}
	var data object
	data.add("dao", answers[0].Data)
	if len(answers) > 1 {
		data.add("timeline", answers[1].Data)
	}
	return envelope(data.end(), combined(answers, "dao", "timeline")), nil
}

// getProposal answers with a proposal and the parts of it that are asked for.
func getProposal(c *call) ([]byte, error) {
	parts, routes := splitList(c.args[argInclude]), []string{routeProposal}
	for part, route := range map[string]string{partVotes: routeSummary, partEvidence: routeEvidence} {
		if slices.Contains(parts, part) {
			routes = append(routes, route)
		}
	}
	slices.Sort(routes) // detail, evidence, vote-summary
	reads, answers, err := c.get(routes...)
	if err != nil {
		return nil, err
	}
	var data, others object
	names := make([]string, len(routes))
	for i, route := range routes {
		names[i] = map[string]string{routeProposal: "proposal", routeSummary: partVotes, routeEvidence: partEvidence}[route]
		if route == routeEvidence {
			answers[i].Data = conciseEvidence(answers[i].Data)
		}
	}
	for i, answer := range answers[1:] {
		others.add(names[i+1], answer.Data)
	}
	proposal, text := without(answers[0].Data, "bodyText")
	room := maxStructured - metaRoom - len(proposal) - others.Len()
	if room < minTextRoom {
		return nil, reads[0].Refuse(c.tooLarge(len(proposal) + others.Len()))
	}
	data.add("proposal", proposal)
	if slices.Contains(parts, partText) {
		data.add(partText, encode(c.textWindow(text).part(room)))
	}
	for i, answer := range answers[1:] {
		data.add(names[i+1], answer.Data)
	}
	return envelope(data.end(), combined(answers, names...)), nil
}

// maxEvidence is how much evidence a result has, in bytes, before parts of its dossier are left out.
const maxEvidence = 6 << 10

// conciseEvidence leaves the long parts of a dossier out of evidence that is too long: first what no finding names,
// then what findings rest on, then the findings beyond their numbers. The route has it whole.
func conciseEvidence(evidence []byte) []byte {
	if len(evidence) <= maxEvidence {
		return evidence
	}
	counts := shape{"summary": nil, "decision": nil, "highestSeverity": nil, "findingCounts": nil}
	findings := shape{"effects": nil, "findings": nil, "unknowns": nil}
	maps.Copy(findings, counts)
	facts := factsOf(evidence)
	maps.Copy(facts, findings)
	for _, dossier := range []shape{facts, findings, counts} {
		intelligence := shape{"status": nil, "artifactVersion": nil, "generatedAt": nil, "warnings": nil, "dossier": dossier}
		if len(dossier) > len(counts) {
			intelligence["sourceRefs"] = nil // findings name them
		}
		evidence = shape{"qualityFlags": nil, "warnings": nil, "intelligence": intelligence}.of(evidence)
		if len(evidence) <= maxEvidence {
			break
		}
	}
	return evidence
}

// factsOf returns the parts of a dossier that its findings rest on.
func factsOf(evidence []byte) shape {
	var of struct {
		Intelligence struct {
			Dossier struct {
				Findings []struct {
					Facts []string `json:"facts"`
				} `json:"findings"`
			} `json:"dossier"`
		} `json:"intelligence"`
	}
	_ = json.Unmarshal(evidence, &of) // it is as the route says
	parts := shape{}
	for _, finding := range of.Intelligence.Dossier.Findings {
		for _, fact := range finding.Facts {
			part, _, _ := strings.Cut(strings.TrimPrefix(fact, "/"), "/")
			parts[part] = nil
		}
	}
	return parts
}

// minTextRoom is what a part of a text gets at least, in bytes.
const minTextRoom = 4 << 10

func (c *call) textWindow(text []byte) window {
	offset, _ := strconv.Atoi(c.args[argTextOffset]) // both were parsed before
	limit, _ := strconv.Atoi(c.args[argTextLimit])
	return window{text: text, offset: offset, limit: limit}
}

// without returns an object without a member, and the value of that.
func without(of []byte, key string) (rest, value []byte) {
	var kept object
	for name, member := range members(of) {
		if name == key {
			value = member
			continue
		}
		kept.add(name, member)
	}
	return kept.end(), value
}

// getTopic answers with a topic and a part of its text.
func getTopic(c *call) ([]byte, error) {
	reads, answers, err := c.get(routeTopic)
	if err != nil {
		return nil, err
	}
	topic, text := without(answers[0].Data, "bodyText")
	room := maxStructured - metaRoom - len(topic)
	if room < minTextRoom {
		return nil, reads[0].Refuse(c.tooLarge(len(topic)))
	}
	var data object
	data.add("topic", topic)
	data.add(partText, encode(c.textWindow(text).part(room)))
	return envelope(data.end(), answers[0].Meta), nil
}

// getVoter answers with votes and, on the first page, the profile of a voter.
func getVoter(c *call) ([]byte, error) {
	routes := []string{routeVoterVotes}
	if c.args["cursor"] == "" {
		routes = append(routes, routeProfile)
	}
	reads, answers, err := c.get(routes...)
	if err != nil {
		return nil, err
	}
	room, hint := maxStructured-metaRoom, ""
	var data object
	if len(answers) > 1 {
		hint = leaveOut(&answers[1], "daos")
		data.add("voter", answers[1].Data)
		room -= len(answers[1].Data)
	}
	votes, meta, err := c.page(reads[0], answers[0], room)
	if err != nil {
		return nil, err
	}
	data.add("votes", votes)
	answers[0].Meta = meta
	meta = combined(answers, "votes", "voter")
	meta.Hint = cmp.Or(meta.Hint, hint)
	return envelope(data.end(), meta), nil
}

// leaveOut leaves a list out of a part that would take more than half of a result, and says so.
func leaveOut(part *api.Answer, list string) (hint string) {
	if len(part.Data) <= maxStructured/2 {
		return ""
	}
	part.Data, _ = without(part.Data, list)
	return list + " is too long for a result, and left out: read it over HTTP"
}

// getStatus answers with the state of the data, the prices and, for a token, its usage.
func getStatus(c *call) ([]byte, error) {
	// Prices first: a node knows them without Redis.
	names, routes := []string{"pricing", "status", "usage"}, []string{routePricing, routeStatus, routeUsage}
	var reads []*api.Read
	for _, id := range routes {
		if id == routeUsage && !reads[0].HasToken() {
			break
		}
		read, err := c.read(id)
		if err != nil {
			return nil, err
		}
		reads = append(reads, read)
	}
	answers, err := c.answers(reads)
	if err != nil {
		return nil, err
	}
	var data object
	status := &answers[1]
	data.add("freshness", encode(freshness(status.Data)))
	if status.Data == nil {
		status.Meta = answers[0].Meta
		status.Meta.Readiness.Status = governance.ReadinessUnavailable
	}
	hint := ""
	if len(answers) > 2 {
		hint = leaveOut(&answers[2], "days")
	}
	for i, answer := range answers {
		data.add(names[i], answer.Data)
	}
	status.Meta.Hint = cmp.Or(missing(answers, names), hint)
	return envelope(data.end(), status.Meta), nil
}

// freshness says in words how new the data is.
func freshness(status []byte) string {
	var read governance.DataStatus
	if err := json.Unmarshal(status, &read); err != nil {
		return "unknown"
	}
	newest := governance.Later(read.LatestSuccessfulSync.GovernanceAt, read.LatestSuccessfulSync.ForumAt)
	followed := len(read.SourceCounts) > 0
	for _, source := range read.Sources {
		newest = governance.Later(newest, source.NewestRecordAt)
		followed = followed || source.Mode == governance.ModeFollowed
	}
	switch {
	case newest == nil:
		return "no record has a known time"
	case followed:
		return "followed; read up to " + newest.String()
	}
	return "imported; newest record " + newest.Time().Format("January 2006")
}

// combined is the meta of named answers sent together: the oldest time, the least readiness and coverage.
func combined(answers []api.Answer, names ...string) api.Meta {
	meta, states := answers[0].Meta, governance.Readinesses()
	coverages := []governance.VoteCoverage{"", governance.VotesReady, governance.VotesPartial, governance.VotesBackfilling, governance.VotesUnavailable}
	meta.Hint = missing(answers, names)
	for _, answer := range answers[1:] {
		if answer.Data == nil {
			continue
		}
		meta.DataAsOf = min(meta.DataAsOf, answer.Meta.DataAsOf)
		if status := answer.Meta.Readiness.Status; slices.Index(states, status) > slices.Index(states, meta.Readiness.Status) {
			meta.Readiness.Status = status
		}
		if held := answer.Meta.VoteCoverageStatus; slices.Index(coverages, held) > slices.Index(coverages, meta.VoteCoverageStatus) {
			meta.VoteCoverageStatus = held
		}
	}
	return meta
}

// missing says which answers are left out, see call.answers; it is empty where none is.
func missing(answers []api.Answer, names []string) string {
	var out []string
	for i, answer := range answers {
		if answer.Data == nil {
			out = append(out, names[i])
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, " and ") + " cannot be read at the moment: try again shortly"
}

// splitList returns the elements of a list in a text; none for an empty one.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
