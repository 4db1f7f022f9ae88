package edge_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pnyx/edge"
	"pnyx/test/env"
)

func TestWorkersOfNginxMayOpenWhatTheyAreConfiguredFor(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	env.MustDo(t, edge.Write(&text, edge.Options{
		Listen: "127.0.0.1:8000", AdminListen: ":8001", Origin: "http://127.0.0.1:8080", Dir: t.TempDir(), Modules: env.NginxModules,
	}))
	number := func(pattern string) int {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(text.String())
		if found == nil {
			t.Fatalf("nginx.conf has no %s", pattern)
		}
		return env.Must(strconv.Atoi(found[1]))(t)
	}
	most := number(`worker_rlimit_nofile (\d+);`)
	if need := number(`worker_connections (\d+);`) + number(`open_file_cache max=(\d+) `); most < need {
		t.Errorf("got %d descriptors, want at least the %d of connections and cached files", most, need)
	}
}
