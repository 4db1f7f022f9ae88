package api_test

import (
	"net/http"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

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
