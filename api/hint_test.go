package api_test

import (
	"net/http"
	"strings"
	"testing"

	"pnyx/governance/query"
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
	if got := n.get("/v2/daos/uniswp"); got.status != http.StatusNotFound || !strings.Contains(got.body, `"nearest":"uniswap"`) {
		t.Errorf("got %d %s, want the nearest id", got.status, got.body)
	}
}
