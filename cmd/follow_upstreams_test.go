package cmd

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/follow/sources"
	"pnyx/test/env"
)

func parsed(t *testing.T, text string) sources.File {
	t.Helper()
	return env.Must(sources.Parse("f", []byte(text), func(string) (string, bool) { return "", false }))(t)
}

const followed = `contact: ops@example.org
chains:
  eip155:1: {rpc: ["http://127.0.0.1:1"]}
  eip155:10: {rpc: ["http://127.0.0.1:2"], clockChain: eip155:1}
daos:
- {id: a, name: A, snapshot: [a.eth], forums: [a.org], governors: ["eip155:10:0x21dF544947ba3E8b3c32561399E88B52Dc8b2823"]}
`

func TestAnUpstreamStaysTheSameUntilItsSettingsChange(t *testing.T) {
	t.Parallel()
	made := upstreams{logger: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry()}
	before := made.of(parsed(t, followed))
	var ids []string
	for _, u := range before {
		ids = append(ids, u.ID())
	}
	// Nothing is followed on eip155:1: it is the clock of the other chain alone.
	if diff := cmp.Diff([]string{"discourse:a.org", "eip155:10", "snapshot:hub.snapshot.org"}, ids); diff != "" {
		t.Fatal(diff)
	}
	again := made.of(parsed(t, followed))
	if !slices.Equal(before, again) {
		t.Error("got other upstreams of the same file")
	}
	const more = followed + "- {id: b, name: B, snapshot: [b.eth], forums: [b.org]}\n"
	changed := made.of(parsed(t, more))
	if len(changed) != 4 || changed[0] != before[0] || changed[2] == before[1] || changed[3] == before[2] {
		t.Errorf("got %v after a second space and forum, want the former forum, a new one, a new hub, and a new chain, whose registry has the space", changed)
	}
	if other := made.of(parsed(t, "contact: other@example.org"+followed[len("contact: ops@example.org"):])); other[0] == before[0] {
		t.Error("got the same upstream, which sends the former contact")
	}
}
