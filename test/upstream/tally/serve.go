package tally

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// perPage is how many nodes a page has at most, whatever is asked for.
	perPage = 20
	// governor is the Governor of all organizations.
	governor = "eip155:1:0x00000000000000000000000000000000000000aa"
	token    = "eip155:1/erc20:0x00000000000000000000000000000000000000bb" //nolint:gosec // an address
)

// object is a JSON object.
type object = map[string]any

// input is the variable of every query.
type input struct {
	ID, Slug string
	Filters  struct {
		OrganizationID, ProposalID string
		IncludePendingVotes        bool
	}
	Page struct {
		AfterCursor string
		Limit       int
	}
	Sort struct {
		SortBy       string
		IsDescending bool
	}
}

// ServeHTTP answers a query.
func (t *Tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var asked struct {
		Query     string
		Variables struct{ I input }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		answer(w, http.StatusUnprocessableEntity, nil, "invalid request")
		return
	}
	root := regexp.MustCompile(`\{\s*(\w+)`).FindStringSubmatch(asked.Query)
	if len(root) < 2 {
		root = []string{"", ""}
	}
	t.requests[root[1]]++
	switch s := t.switches; {
	case s.Key != "" && r.Header.Get("Api-Key") != s.Key:
		http.Error(w, "invalid api key", cmp.Or(s.RefusedStatus, http.StatusUnauthorized))
		return
	case t.refused():
		http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
		return
	case s.Fails:
		answer(w, http.StatusOK, nil, "internal system error")
		return
	}
	if unknown := t.unknownField(asked.Query); unknown != "" {
		answer(w, http.StatusUnprocessableEntity, nil, fmt.Sprintf("Cannot query field %q", unknown))
		return
	}
	value, problem := t.resolve(root[1], asked.Variables.I)
	if problem != "" {
		answer(w, http.StatusOK, nil, problem)
		return
	}
	answer(w, http.StatusOK, object{root[1]: value}, "")
}

// refused reports whether a request is more than one a second, but for a burst of two; those count too.
func (t *Tally) refused() bool {
	now := t.now()
	t.times = append(t.times, now)
	t.times = t.times[max(0, len(t.times)-3):]
	return t.switches.Limited && len(t.times) == 3 && now.Sub(t.times[0]) < 2*time.Second
}

func answer(w http.ResponseWriter, status int, data any, problem string) {
	body := object{"data": data}
	if problem != "" {
		body["errors"] = []object{{"message": problem, "locations": []object{{"line": 1, "column": 1}}}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that left needs nothing
}

// unknownField returns a word of a query that is no field, argument or type of the API.
func (t *Tally) unknownField(query string) string {
	known := strings.Fields(`query i on input Proposal Block BlocklessTimestamp ProposalsInput ProposalInput VotesInput OrganizationInput
		organization proposals proposal votes nodes pageInfo lastCursor firstCursor count id onchainId status quorum createdAt metadata title
		description discourseURL snapshotURL governor isBehind isIndexing token decimals slug name proposalsCount proposer creator address start end
		timestamp events type txHash block voteStats votesCount votersCount amount reason isBridged voter executableCalls target value calldata
		signature chainId`)
	known = append(known, map[bool]string{true: "Vote", false: "OnchainVote"}[t.switches.EarlierVotes])
	for _, word := range regexp.MustCompile(`[A-Za-z]\w*`).FindAllString(query, -1) {
		if !slices.Contains(known, word) {
			return word
		}
	}
	return ""
}

func (t *Tally) resolve(field string, in input) (value any, problem string) {
	switch field {
	case "organization":
		for _, o := range t.organizations {
			if o.slug == in.Slug || o.id == in.ID {
				return object{"id": o.id, "slug": o.slug, "name": o.name, "proposalsCount": t.count(o)}, ""
			}
		}
		return nil, "organization not found"
	case "proposal":
		if p := t.find(in.ID); p != nil {
			return t.json(p), ""
		}
		return nil, "proposal not found"
	case "proposals":
		nodes := []object{}
		for _, p := range t.proposals {
			if p.organization.id == in.Filters.OrganizationID && (!t.switches.Behind || p.frozen != nil) {
				nodes = append(nodes, t.json(p))
			}
		}
		if t.switches.Others {
			nodes = append(nodes, object{})
		}
		return t.page(field+in.Filters.OrganizationID, nodes, in)
	case "votes":
		p := t.find(in.Filters.ProposalID)
		if p == nil {
			return nil, "proposal not found"
		}
		return t.page(field+in.Filters.ProposalID, t.votesOf(p, in.Filters.IncludePendingVotes), in)
	}
	return nil, "unknown query"
}

func (t *Tally) count(o *organization) (count int) {
	for _, p := range t.proposals {
		if p.organization == o {
			count++
		}
	}
	return count
}

// page returns the nodes after a cursor, which is valid for one filter. Nodes without id come first.
func (t *Tally) page(filter string, nodes []object, in input) (value any, problem string) {
	slices.SortStableFunc(nodes, func(a, b object) int {
		order := cmp.Compare(idOf(a), idOf(b))
		if in.Sort.IsDescending && idOf(a) != "" && idOf(b) != "" {
			return -order
		}
		return order
	})
	if in.Page.AfterCursor != "" {
		text, err := base64.StdEncoding.DecodeString(in.Page.AfterCursor)
		of, after, _ := strings.Cut(string(text), ";")
		if err != nil || of != filter || t.switches.ForgetsCursors {
			return nil, "unknown cursor"
		}
		nodes = slices.DeleteFunc(nodes, func(n object) bool {
			return idOf(n) == "" || idOf(n) == after || idOf(n) < after != in.Sort.IsDescending
		})
	}
	nodes = nodes[:min(len(nodes), perPage, max(in.Page.Limit, 1))]
	info := object{"firstCursor": "", "lastCursor": "", "count": 0}
	if t.switches.ShortPages {
		nodes = nodes[:min(len(nodes), perPage-1)]
		info["lastCursor"] = in.Page.AfterCursor
	}
	if len(nodes) > 0 {
		info["lastCursor"] = base64.StdEncoding.EncodeToString([]byte(filter + ";" + idOf(nodes[len(nodes)-1])))
	}
	return object{"nodes": nodes, "pageInfo": info}, ""
}

func idOf(node object) string {
	id, _ := node["id"].(string) // a node of another type has none
	return id
}

func (t *Tally) json(p *proposal) object {
	if p.frozen != nil {
		p = p.frozen
	}
	events := []object{}
	for _, e := range p.events {
		events = append(events, object{"type": e.kind, "txHash": "0xc0", "createdAt": clockTime(e.at), "block": object{"timestamp": clockTime(e.at)}})
	}
	onchain := any(p.onchainID)
	if p.onchainID == "" {
		onchain = nil
	}
	return object{
		"id": p.id, "onchainId": onchain, "status": p.status, "quorum": p.quorum,
		"metadata":     object{"title": p.title, "description": "# " + p.title, "discourseURL": "", "snapshotURL": ""},
		"governor":     t.governor(p.organization),
		"organization": object{"slug": p.organization.slug}, "proposer": object{"address": "0xFEed"},
		"start": object{"timestamp": clockTime(p.start)}, "end": object{"timestamp": clockTime(p.end)},
		"events": events, "voteStats": p.sums(),
		"executableCalls": p.calls,
	}
}

func (t *Tally) governor(o *organization) object {
	return object{"id": governor, "isBehind": t.switches.Behind, "isIndexing": false, "token": object{"id": token, "decimals": o.decimals}}
}

func (t *Tally) votesOf(p *proposal, pending bool) []object {
	nodes := []object{}
	if p.frozen != nil {
		p = p.frozen
	}
	for _, v := range p.votes {
		if strings.HasPrefix(v.kind, "pending") && !pending {
			continue
		}
		nodes = append(nodes, object{
			"id": v.id, "type": v.kind, "amount": v.amount, "reason": v.reason, "txHash": "0xc1", "isBridged": false,
			"block": object{"timestamp": clockTime(v.at)}, "voter": object{"address": v.voter, "name": t.names[v.voter]},
			"proposal": object{"id": p.id, "governor": t.governor(p.organization)},
		})
	}
	return nodes
}

func clockTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
