package edge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/governance"
	"pnyx/test/env"
)

// addChanges adds rows about proposals to the stream of changes.
func (n *node) addChanges(keys ...string) {
	n.Helper()
	changes := make([]governance.Change, len(keys))
	for i, key := range keys {
		changes[i] = governance.Change{
			Kind: governance.ProposalChange, Key: key, DAOID: "a", ChangedAt: governance.TimestampOf(time.Now()), Revision: "1",
		}
	}
	env.Must(env.AddChanges(context.Background(), n.store, changes...))(n)
}

// waitHeld waits until a number of requests wait at the node.
func (n *node) waitHeld(want float64) {
	n.Helper()
	env.Until(n, func() error {
		if got := env.Counts(n, n.registry, "pnyx_changes_waiting")[""]; got != want {
			return fmt.Errorf("got %v waiting, want %v", got, want)
		}
		return nil
	})
}

// cursorOf returns the cursor after a page.
func (n *node) cursorOf(got answer) string {
	n.Helper()
	var page struct {
		Meta struct{ Page struct{ NextCursor string } }
	}
	if err := json.Unmarshal([]byte(got.body), &page); err != nil || page.Meta.Page.NextCursor == "" {
		n.Fatalf("got %d %s, want a page with a cursor", got.status, got.body)
	}
	return url.QueryEscape(page.Meta.Page.NextCursor)
}

func TestWaitingRequestsPassTheEdgeOneByOne(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	alice, bob := n.issue(1000, access.V2All), n.issue(1000, access.V2All)
	path := "/v2/changes?wait=25&cursor=" + n.cursorOf(n.read(alice, "/v2/changes"))
	answers := make(chan answer, 3)
	for _, caller := range []partner{alice, alice, bob} {
		go func() {
			got, err := n.try(http.MethodGet, path, access.HeaderToken, caller.token)
			if err != nil {
				n.Error(err)
			}
			answers <- got
		}()
	}
	n.waitHeld(3) // nobody waits at the edge for another
	if got := n.read(alice, "/v2/changes"); got.status != http.StatusOK || got.header.Get("Cache-Control") != "private, no-store" {
		t.Errorf("without wait, meanwhile: got %d %v, want a page that nobody keeps", got.status, got.header)
	}
	n.addChanges("x")
	for range cap(answers) {
		got := <-answers
		if got.status != http.StatusOK || !strings.Contains(got.body, `"key":"x"`) || got.header.Get("Cache-Status") != "pnyx-redis; hit, pnyx-node; fwd=uri-miss, pnyx-edge; fwd=bypass" {
			t.Errorf("got %d %v %s, want the row, from the node", got.status, got.header, got.body)
		}
	}
	n.wantUsed(map[partner]int64{alice: 2, bob: 1})
}

func TestEdgeKeepsFullPagesOfChanges(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	alice, bob := n.issue(1000, access.V2All), n.issue(1000, access.V2All)
	path := "/v2/changes?limit=1&cursor=" + n.cursorOf(n.read(alice, "/v2/changes"))
	n.addChanges("x", "y")
	first, again := n.read(alice, path), n.read(bob, path)
	for _, got := range []answer{first, again} {
		if got.status != http.StatusOK || !strings.Contains(got.body, `"key":"x"`) || got.header.Get("Etag") == "" {
			t.Fatalf("got %d %v %s, want the row", got.status, got.header, got.body)
		}
	}
	env.Want(t, "pnyx-edge; hit", again.header.Get("Cache-Status"), "the second caller", "Cache-Status", "a hit")
	last := n.read(alice, "/v2/changes?limit=1&cursor="+n.cursorOf(first))
	if last.status != http.StatusOK || !strings.Contains(last.body, `"key":"y"`) || last.header.Get("Etag") != "" {
		t.Errorf("the last page, which may grow: got %d %v %s, want the row, and that nobody keeps it", last.status, last.header, last.body)
	}
	n.wantUsed(map[partner]int64{alice: 2, bob: 1})
}

func TestStreamsPassTheEdgeAsTheyAreSent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	alice := n.issue(1000, access.V2All)
	request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, n.base+"/v2/changes", http.NoBody))(t)
	request.Header = http.Header{http.CanonicalHeaderKey(access.HeaderToken): {alice.token}, "Accept": {"text/event-stream"}, "Accept-Encoding": {"gzip"}}
	response, err := n.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header; response.StatusCode != http.StatusOK || got.Get("Content-Type") != "text/event-stream" || got.Get("Content-Encoding") != "" {
		t.Fatalf("got %d %v, want a stream", response.StatusCode, got)
	}
	lines := bufio.NewReader(response.Body)
	for _, key := range []string{"x", "y"} {
		n.waitHeld(1)
		n.addChanges(key)
		for {
			line := env.Must(lines.ReadString('\n'))(t)
			if data, is := strings.CutPrefix(line, "data: "); is {
				env.WantPart(t, fmt.Sprintf(`"key":%q`, key), data, "the row")
				break
			}
		}
	}
	n.wantUsed(map[partner]int64{alice: 2})
	response.Body.Close()
}
