package e2e_test

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/upstream/hub"
)

// startHub serves a hub with two spaces, each with an open proposal, and returns its address.
func startHub(t *testing.T) (*hub.Hub, string) {
	t.Helper()
	upstream := hub.New(nil)
	now := time.Now()
	for _, space := range []string{"harbor.eth", "meadow.eth"} {
		upstream.AddSpace(hub.Space{ID: space, Name: "Space " + space, Network: "1", Symbol: "TOK"})
		upstream.Propose(hub.Proposal{
			Space: space, Title: "A proposal of " + space, Choices: []string{"Yes", "No"},
			Created: now.Add(-2 * time.Hour), Start: now.Add(-time.Hour), End: now.Add(time.Hour),
		})
	}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return upstream, server.URL + "/graphql"
}

// sourcesFile is a file that follows spaces of a hub, a DAO for each.
func sourcesFile(hubURL string, spaces ...string) string {
	text := fmt.Sprintf("contact: ops@example.org\nsnapshot: {url: %q, apiKey: \"${HUB_KEY}\", requestsPerMinute: 60000}\ndaos:\n", hubURL)
	for _, space := range spaces {
		name, _, _ := strings.Cut(space, ".")
		text += fmt.Sprintf("- {id: %s, name: The %s, snapshot: [%s]}\n", name, name, space)
	}
	return text
}

func writeSources(t *testing.T, path, text string) {
	t.Helper()
	env.WriteFile(t, path, text)
}

func TestAChangedSourcesFileIsFollowedWithoutARestart(t *testing.T) {
	t.Parallel()
	upstream, address := startHub(t)
	upstream.Set(func(s *hub.Switches) { s.Keys = map[string]int{"hub-s3cret-key": 1_000_000} })
	path := filepath.Join(t.TempDir(), "sources.yaml")
	writeSources(t, path, sourcesFile(address, "harbor.eth"))
	environ := []string{"PNYX_SOURCES=" + path, "HUB_KEY=hub-s3cret-key"}
	pnyx := env.StartPnyx(t, t.TempDir(), environ, "serve")
	awaitProposals := func(dao string) {
		t.Helper()
		env.Until(t, func() error {
			page, err := pnyx.Page("/v2/proposals?daoId="+dao, 10, "")
			if err == nil && len(page.Rows) != 1 {
				err = fmt.Errorf("%s has %d proposals, want 1", dao, len(page.Rows))
			}
			return err
		})
	}
	awaitProposals("harbor")
	awaitValid := func(want float64) {
		t.Helper()
		env.Until(t, func() error {
			if got := pnyx.Metric("pnyx_follow_sources_valid"); got != want {
				return fmt.Errorf("got pnyx_follow_sources_valid %v, want %v", got, want)
			}
			return nil
		})
	}
	awaitValid(1)

	writeSources(t, path, "contact: []\n")
	awaitValid(0)
	env.WantPart(t, "want a text of at most 200 bytes", pnyx.Output.String(), "what is wrong with the file")
	writeSources(t, path, sourcesFile(address, "harbor.eth", "meadow.eth"))
	awaitProposals("meadow")
	awaitValid(1)

	env.Until(t, func() error {
		output := env.MustRun(t, pnyx.Environ, "sources", "status")
		for _, want := range []string{"harbor.eth", "meadow.eth", "live", "requests left: "} {
			if !strings.Contains(output, want) {
				return fmt.Errorf("got status %s, want %s in it", output, want)
			}
		}
		return nil
	})
	env.WantPart(t, "Snapshot space Space harbor.eth, 1 proposals", env.MustRun(t, pnyx.Environ, "sources", "check"), "check", "what the space")
	writeSources(t, path, sourcesFile(address, "harbor.eth", "nowhere.eth"))
	if output, status := env.Run(t, pnyx.Environ, "sources", "check"); status != 1 || !strings.Contains(output, "no space nowhere.eth") {
		t.Errorf("got check %s with status %d, want the problem and status 1", output, status)
	}
	pnyx.Stop()
	if strings.Contains(pnyx.Output.String(), "hub-s3cret-key") {
		t.Error("the log has the key")
	}
}

func TestFollowNeedsAValidSourcesFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sources.yaml")
	writeSources(t, path, sourcesFile("http://127.0.0.1:1/graphql", "harbor.eth"))
	for name, test := range map[string]struct {
		environ []string
		args    []string
		want    string
	}{
		"no file":        {nil, []string{"follow"}, "PNYX_SOURCES: want the path of a sources file"},
		"no ClickHouse":  {[]string{"PNYX_SOURCES=" + path}, []string{"follow"}, "CLICKHOUSE_URL: a follower alone needs"},
		"no Redis":       {[]string{"PNYX_SOURCES=" + path, "CLICKHOUSE_URL=clickhouse://127.0.0.1:1/pnyx"}, []string{"follow"}, "REDIS_URL: a follower alone needs"},
		"a wrong file":   {[]string{"PNYX_SOURCES=" + path, "PNYX_ENGINE_LIB=/nowhere"}, []string{"serve"}, path + ":2: snapshot.apiKey"}, // before an engine starts
		"a missing key":  {nil, []string{"sources", "check", path}, path + ":2: snapshot.apiKey: environment variable HUB_KEY is not set"},
		"a file to find": {nil, []string{"sources", "check", path + ".none"}, "read the sources file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, status := env.Run(t, append([]string{"PNYX_DATA=" + t.TempDir()}, test.environ...), test.args...)
			if status != 1 || !strings.Contains(output, test.want) {
				t.Errorf("got %s with status %d, want %s", output, status, test.want)
			}
		})
	}
}
