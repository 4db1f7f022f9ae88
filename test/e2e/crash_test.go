package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// realRedis runs a Redis server for a test.
func realRedis(t *testing.T) *env.RedisServer {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Redis server, which -short leaves out")
	}
	return env.Redis(t)
}

// engineURL is the address of the engine that runs in a folder.
func engineURL(t *testing.T, dir string) string {
	t.Helper()
	instance, err := engine.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return instance.URL("pnyx")
}

// generated returns a folder with an invented data set, made once for each size.
func generated(t *testing.T, ballots int) string {
	t.Helper()
	made, _ := dataSets.LoadOrStore(ballots, sync.OnceValues(func() (string, error) {
		dir := filepath.Join(filepath.Dir(pnyxBinary(t)), fmt.Sprintf("data-%d", ballots))
		out, status := command(t, nil, "generate", "--now", "2026-06-01T00:00:00Z", "--daos", "20", "--proposals", "300",
			"--ballots", strconv.Itoa(ballots), "--largest", strconv.Itoa(ballots/5), dir)
		if status != 0 {
			return "", fmt.Errorf("generate: status %d: %s", status, out)
		}
		return dir, nil
	}))
	generate, ok := made.(func() (string, error))
	if !ok {
		t.Fatalf("got %T, want how to make a data set", made)
	}
	dir, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var dataSets sync.Map

// cleanRun imports a data set undisturbed and returns how to question the result.
func cleanRun(t *testing.T, data string) (environ []string) {
	t.Helper()
	environ = []string{"PNYX_DATA=" + t.TempDir()}
	if out, status := command(t, environ, "import", data); status != 0 {
		t.Fatalf("import: status %d: %s", status, out)
	}
	return environ
}

// contents sums up everything that the warehouse holds of ballots and proposals.
func contents(tb testing.TB, environ []string) string {
	tb.Helper()
	out, status := command(tb, environ, "sql", "--format", "csv", `
		SELECT
			(SELECT (count(), sum(power), groupBitXor(cityHash64(proposal_ref, voter, vote_id, raw_choice, power, voted_at))) FROM ballots FINAL) AS casts,
			(SELECT (count(), sum(power), groupBitXor(cityHash64(proposal_ref, voter, vote_id, raw_choice, power, voted_at))) FROM latest_ballots) AS latest,
			(SELECT (count(), groupBitXor(cityHash64(proposal_ref, title, body, choices))) FROM proposals FINAL) AS proposals,
			(SELECT (count(), groupBitXor(cityHash64(host, external_id, title))) FROM topics FINAL) AS topics`)
	if status != 0 {
		tb.Fatalf("sql: status %d: %s", status, out)
	}
	return out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
}

// settled waits until everything that is sealed by now is published.
func (i *instance) settled() {
	i.tb.Helper()
	now := float64(time.Now().UnixMilli()) / 1000
	env.Until(i.tb, func() error {
		through := i.metric("pnyx_publish_sealed_through_timestamp_seconds")
		if unsettled := i.metric("pnyx_publish_unsettled_daos"); through <= now || unsettled > 0 {
			return fmt.Errorf("published through %.3f, want %.3f; %v DAOs unsettled", through, now, unsettled)
		}
		return nil
	})
}

// metric reads one number off the admin listener; 0 while it does not answer.
func (i *instance) metric(name string) float64 {
	_, body, err := fetch(i.admin + "/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(body)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				i.tb.Fatalf("metric %s: %v", name, err)
			}
			return number
		}
	}
	return 0
}

// answers collects what the API says of every DAO.
func (i *instance) answers() string {
	i.tb.Helper()
	var daos []struct {
		DAOID string `json:"daoId"`
	}
	i.get("/v2/daos?limit=100", &daos)
	var all strings.Builder
	for _, dao := range daos {
		var detail map[string]any
		i.get("/v2/daos/"+dao.DAOID, &detail)
		fmt.Fprintln(&all, detail)
	}
	return all.String()
}

// undisturbed is what the API says of a data set after an import that nothing
// disturbed.
func undisturbed(t *testing.T, data string) string {
	t.Helper()
	i := start(t, t.TempDir(), nil, "serve").ready()
	if out, status := command(t, i.environ, "import", data); status != 0 {
		t.Fatalf("import: status %d: %s", status, out)
	}
	i.settled()
	return i.answers()
}

// importing starts an import and returns when part of it is written.
func (i *instance) importing(data string) *exec.Cmd {
	i.tb.Helper()
	cmd := exec.Command(pnyxBinary(i.tb), "import", data)
	cmd.Env = append(os.Environ(), append(i.environ, "PNYX_IMPORT_BATCH=1000")...)
	cmd.Stdout, cmd.Stderr = i.output, i.output
	if err := cmd.Start(); err != nil {
		i.tb.Fatal(err)
	}
	env.Until(i.tb, func() error {
		if i.metric("pnyx_publish_proposals_total") == 0 {
			return fmt.Errorf("nothing of the import is published yet")
		}
		return nil
	})
	return cmd
}

func TestCrashesLeaveTheRightAnswers(t *testing.T) {
	t.Parallel()
	requireEngine(t)
	data := generated(t, 40_000)
	want := undisturbed(t, data)
	wantContents := contents(t, cleanRun(t, data))

	t.Run("import killed half-way", func(t *testing.T) {
		t.Parallel()
		i := start(t, t.TempDir(), nil, "serve").ready()
		cmd := i.importing(data)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed on purpose
		i.importAgain(data)
		i.compare(want, wantContents)
	})
	t.Run("engine killed during import and publish", func(t *testing.T) {
		t.Parallel()
		i := start(t, t.TempDir(), nil, "serve").ready()
		cmd := i.importing(data)
		instance, err := engine.Find(i.dataDir)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(instance.EnginePID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the import did not get over it: %v\n%s", err, i.output)
		}
		i.compare(want, wantContents)
	})
	t.Run("whole process tree killed during import and publish", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		i := start(t, dir, nil, "serve").ready()
		cmd := i.importing(data)
		i.killTree()
		_ = cmd.Process.Kill() // it waits for an engine that does not come back
		_ = cmd.Wait()         // killed on purpose
		again := start(t, dir, nil, "serve").ready()
		again.importAgain(data)
		again.compare(want, wantContents)
	})
	t.Run("Redis killed during publish", func(t *testing.T) {
		t.Parallel()
		redis := realRedis(t)
		i := start(t, t.TempDir(), []string{"REDIS_URL=" + redis.URL}, "serve").ready()
		cmd := i.importing(data)
		redis.Kill()
		if status, body, _ := fetch(i.base + "/v2/daos"); status != http.StatusServiceUnavailable {
			t.Errorf("while Redis is down: got %d %s, want 503", status, body)
		}
		redis.Restart()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the import did not get over it: %v\n%s", err, i.output)
		}
		i.compare(want, wantContents)
	})
}

func (i *instance) importAgain(data string) {
	i.tb.Helper()
	if out, status := command(i.tb, i.environ, "import", data); status != 0 {
		i.tb.Fatalf("import: status %d: %s", status, out)
	}
}

// compare waits until the API says what it says after an undisturbed import, and
// compares what the warehouse holds.
func (i *instance) compare(want, wantContents string) {
	i.tb.Helper()
	i.ready()
	i.settled()
	if got := i.answers(); got != want {
		i.tb.Errorf("answers: got\n%s\nwant\n%s", got, want)
	}
	if got := contents(i.tb, i.environ); got != wantContents {
		i.tb.Errorf("contents: got %s, want %s", got, wantContents)
	}
}
