package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// listedRows are rows as they are kept: three proposals by some order.
func listedRows() []cache.ProposalRow {
	title := "Deploy \"v4\""
	rows := make([]cache.ProposalRow, 3)
	for i, id := range []string{"0xc", "0xb", "0xa"} {
		identity := governance.Identity{DAOID: "uniswap", Provider: governance.Snapshot, ExternalID: id}
		rows[i] = cache.ProposalRow{
			Item: governance.ProposalListItem{
				ProposalKey: identity.ProposalKey(), Identity: identity, LifecycleStatus: governance.Closed,
				Outcome: governance.Passed, CoverageStatus: governance.Complete,
			},
			Position: query.ProposalPosition{Band: 2, At: ago(60 * i), Key: identity.ProposalKey()},
		}
	}
	rows[0].Item.Title, rows[0].Item.EndAt = &title, ago(60)
	return rows
}

func (t *node) listedIDs(path string) (ids []string) {
	t.Helper()
	var rows []governance.ProposalListItem
	t.decode(string(t.wantSuccess(path).Data), &rows)
	for _, row := range rows {
		ids = append(ids, row.Identity.ExternalID)
	}
	return ids
}

// firstProposals selects the first page of the list of proposals.
func firstProposals() query.Proposals {
	return query.Proposals{Order: query.ProposalsByUpdate, Paging: firstPage[query.ProposalPosition]()}
}

func TestProposalParametersSelectThePage(t *testing.T) {
	t.Parallel()
	for parameters, change := range map[string]func(*query.Proposals){
		"":                                func(*query.Proposals) {},
		"timeField=endAt&limit=100":       func(*query.Proposals) {}, // without a window no field matters
		"daoId=uniswap&provider=snapshot": func(q *query.Proposals) { q.DAOID, q.Provider = "uniswap", "snapshot" },
		"proposerId=0XAB&sort=endingSoon": func(q *query.Proposals) {
			q.Proposer, q.Order = "0xab", query.ProposalsEndingSoon
		},
		"q=%20TREASURY%20&sort=endedDesc": func(q *query.Proposals) {
			q.Title, q.Order = "treasury", query.ProposalsEnded
		},
		"lifecycleStatus=pending,active": func(q *query.Proposals) {
			q.Lifecycles = []governance.Lifecycle{governance.Active, governance.Pending}
		},
		"outcome=failed,failed&sort=createdDesc": func(q *query.Proposals) {
			q.Outcomes, q.Order = []governance.Outcome{governance.Failed}, query.ProposalsByCreation
		},
		"from=2026-01-01": func(q *query.Proposals) {
			q.Time, q.From, q.To = query.ProposalUpdatedAt, instant("2026-01-01"), instant("2027-01-01")
		},
		"to=2026-01-01&timeField=startAt": func(q *query.Proposals) {
			q.Time, q.From, q.To = query.ProposalStartAt, instant("2025-01-01"), instant("2026-01-01")
		},
		"from=2026-01-01&to=2026-01-01T01:00:00%2B01:00": func(q *query.Proposals) {
			q.Time, q.From, q.To = query.ProposalUpdatedAt, instant("2026-01-01"), instant("2026-01-01")
		},
	} {
		t.Run(parameters, func(t *testing.T) {
			t.Parallel()
			n, want := newNode(t), firstProposals()
			change(&want)
			n.writePage(want, listedRows())
			env.WantSame(t, "rows", []string{"0xc", "0xb", "0xa"}, n.listedIDs("/v2/proposals?"+parameters))
		})
	}
}

func TestResolveIgnoresSpelling(t *testing.T) {
	t.Parallel()
	title := "Deploy"
	identity := governance.Identity{DAOID: "uniswap", Provider: governance.Tally, ExternalID: "93"}
	candidates := []governance.ProposalCandidate{
		{ProposalKey: identity.ProposalKey(), Identity: identity, Title: &title, Match: governance.Match{Type: governance.MatchURL, MatchedFields: []governance.MatchedField{"sourceUrl"}}},
		{ProposalKey: unknownKey, Match: governance.Match{Type: governance.MatchURL, MatchedFields: []governance.MatchedField{"discussionUrl"}}},
	}
	for parameters, filter := range map[string]query.Resolve{
		"url=" + url.QueryEscape("https://WWW.tally.xyz/gov/uniswap/proposal/93?utm_source=x"): {URL: "tally.xyz/gov/uniswap/proposal/93"},
		"title=%20DEPLOY%20%20v4":                   {Title: "deploy v4"},
		"externalId=0XAB&daoId=d&provider=snapshot": {ExternalID: "0xab", DAOID: "d", Provider: "snapshot"},
	} {
		t.Run(parameters, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			filter.Limit = query.MaxCandidates
			n.writePage(filter, candidates)
			for limit, want := range map[string]int{"": 2, "&limit=1": 1} {
				got := n.wantSuccess("/v2/proposals/resolve?" + parameters + limit)
				var data governance.Resolution
				n.decode(string(got.Data), &data)
				if diff := cmp.Diff(candidates[:want], data.Candidates); diff != "" || got.Meta.Page != nil {
					t.Errorf("%s, page %v (-want +got):\n%s", parameters+limit, got.Meta.Page, diff)
				}
			}
		})
	}
	n := newNode(t)
	n.writePage(query.Resolve{Title: "nothing", Limit: query.MaxCandidates}, []governance.ProposalCandidate{})
	n.writePage(nearProposals("nothing"), []cache.ProposalRow{})
	env.Want(t, `{"candidates":[]}`, string(n.wantSuccess("/v2/proposals/resolve?title=nothing").Data), "an empty array")
}

func TestResolveNeedsExactlyOneOfItsTexts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, parameters := range []string{"", "daoId=uniswap", "url=a&title=b", "title=b&externalId=c", "url=a&title=b&externalId=c"} {
		problems := n.wantProblems("/v2/proposals/resolve?" + parameters)
		for _, name := range []string{"url", "title", "externalId"} {
			if len(problems) != 1 || !strings.Contains(problems[0].Parameter, name) {
				t.Errorf("%s: got %+v, want one problem that names %s", parameters, problems, name)
			}
		}
	}
	env.Want(t, "limit", n.wantProblems("/v2/proposals/resolve?url=a&limit=21")[0].Parameter, "a problem with limit")
}

// analysis is part of a dossier. It has a number of many digits.
const analysis = `"dossier":{"total":1234567890.123456789012345678,"ratio":1.10e2,"text":"<a> & b"}`

// analyze lets dossiers have the analysis.
func (t *node) analyze() {
	view := env.Must(cache.NewView(cache.View{Revision: 1, DataAsOf: dataAsOf, Readiness: governance.Ready}, governance.Intelligence{
		Status: governance.IntelligenceAvailable, Dossier: json.RawMessage(`{"analyses":[{` + analysis + `}]}`),
		SourceRefs: json.RawMessage("[]"), Warnings: json.RawMessage("[]"),
	}))(t)
	t.fillPages(view)
}

// evidence returns an answer with a dossier, which a busy machine makes later than a caller waits.
func (t *node) evidence() (got answer) {
	t.Helper()
	env.Until(t, func() error {
		if got = t.get(evidencePath(countedKey)); strings.Contains(got.body, `"status":"pending"`) {
			return fmt.Errorf("got %s, want a dossier", got.body)
		}
		return nil
	})
	return got
}

func TestAnalysisKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.analyze()
	// The second answer is the node's own copy.
	for range 2 {
		got := n.evidence().body
		want := `"analyses":[{` + analysis + `}]`
		env.WantPart(t, want, got, "in it")
	}
}

// A worker that begins later than the caller waits makes the dossier for the next caller.
func TestADossierIsMadeAfterItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	pending := n.get(evidencePath(countedKey))
	if !strings.Contains(pending.body, `"status":"pending"`) || pending.header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("got %v %s, want pending, kept by nobody", pending.header, pending.body)
	}
	fills, err := n.Store.Fills().Dequeue(t.Context(), routes.PageKinds(), cache.Newest, func(query.Kind) int { return 1 }, time.Second)
	if err != nil || !fills[0].Kept || time.Now().After(fills[0].Deadline.Time()) {
		t.Fatalf("got %+v, %v, want a request that is kept", fills, err)
	}
	other := newNode(t)
	other.analyze()
	if made := other.evidence(); made.header.Get("ETag") == "" {
		t.Errorf("got %v, want an ETag", made.header)
	}
}

func TestProposalDetailLinksToItsEvidence(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var detail governance.ProposalDetail
	n.decode(string(n.wantSuccess("/v2/proposals/"+string(countedKey)).Data), &detail)
	var evidence struct {
		Proposal governance.EvidenceProposal
	}
	env.Decode(t, n.wantSuccess(detail.Related.Evidence).Data, &evidence)
	env.Want(t, countedKey, evidence.Proposal.ProposalKey, "evidence on", "on")
}

func TestFilterByAnUnknownDAONamesTheNearest(t *testing.T) {
	t.Parallel()
	n, q := newNode(t), firstTopics(query.TopicsByUpdate)
	n.writePage(q, titled())
	q.DAOID = "uniswp"
	n.writePage(q, titled())
	got := n.get("/v2/forum-topics?daoId=uniswp")
	const hint = `"hint":"there is no DAO with the daoId \"uniswp\"; did you mean \"uniswap\"?"`
	if got.status != http.StatusOK || !strings.Contains(got.body, `"data":[]`) || !strings.Contains(got.body, hint) {
		t.Errorf("got %d %s, want no rows and %s", got.status, got.body, hint)
	}
	if got := n.get("/v2/forum-topics"); strings.Contains(got.body, `"hint"`) {
		t.Errorf("got %s, want no hint", got.body)
	}
	q.DAOID, q.Provider = "", "Discourse"
	n.writePage(q, titled())
	const provider = `"hint":"there is no provider \"Discourse\", only snapshot, tally, governor, discourse; did you mean \"discourse\"?"`
	if got := n.get("/v2/forum-topics?provider=Discourse"); got.status != http.StatusOK || !strings.Contains(got.body, provider) {
		t.Errorf("got %d %s, want %s", got.status, got.body, provider)
	}
	if got := n.get("/v2/daos/uniswp"); got.status != http.StatusNotFound || !strings.Contains(got.body, `"nearest":"uniswap"`) {
		t.Errorf("got %d %s, want the nearest id", got.status, got.body)
	}
	env.FlushRedis(t, env.RedisClient(t, n.redisURL)) // the DAO may be one of those that are not published again yet
	q.DAOID, q.Provider = "uniswap", ""
	n.writePage(q, titled())
	n.API.ForgetCopies()
	if got := n.get("/v2/forum-topics?daoId=uniswap"); got.status != http.StatusOK || strings.Contains(got.body, `"hint"`) {
		t.Errorf("after a flush: got %d %s, want no hint", got.status, got.body)
	}
}

// nearProposals selects the proposals with a word in their title, for a hint.
func nearProposals(word string) query.Proposals {
	q := firstProposals()
	q.Title, q.Limit = word, query.ShortPage
	return q
}

func TestUnmatchedResolveSaysWhatIsNear(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	none := []governance.ProposalCandidate{}
	row := func(key governance.ProposalKey, title string) cache.ProposalRow {
		return cache.ProposalRow{Item: governance.ProposalListItem{ProposalKey: key, Title: &title}}
	}
	n.writePage(query.Resolve{Title: "fund the treasurry in may", Limit: query.MaxCandidates}, none)
	n.writePage(nearProposals("treasurry"), []cache.ProposalRow{})
	n.writePage(nearProposals("fund"), []cache.ProposalRow{row(unknownKey, "Fund a party"), row(countedKey, "Fund the treasury in May")})
	n.writePage(query.Resolve{Title: "v4", Limit: query.MaxCandidates}, none)
	n.writePage(query.Resolve{URL: "example.org/x", Limit: query.MaxCandidates}, none)
	n.writePage(query.Resolve{ExternalID: "0xab", DAOID: "uniswap", Limit: query.MaxCandidates}, none)
	for parameters, want := range map[string]string{
		"title=Fund the treasurry in May": `near is \"Fund the treasury in May\" (` + string(countedKey) + `)`,
		"title=V4":                        `no proposal has that as its title; a part of a title has 3 characters or more`,
		"url=https://example.org/x":       `"no proposal has that url or externalId; url takes an address, externalId an id`,
		"externalId=0xAB&daoId=uniswap":   `no proposal that daoId and provider select has that url or externalId`,
	} {
		got := n.get("/v2/proposals/resolve?" + strings.ReplaceAll(parameters, " ", "%20"))
		if got.status != http.StatusOK || !strings.Contains(got.body, `"candidates":[]`) || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d %s, want no candidates and %s", parameters, got.status, got.body, want)
		}
	}
}
