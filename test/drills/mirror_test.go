package drills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/histories"
)

const (
	// mirrorSets is how many invented data sets are imported, again and again with other ballots and times.
	mirrorSets = 4
	// mirrorBatches is how many events come between two comparisons with a crawl.
	mirrorBatches = 3
	// maxMirrorEvents is more than a run of days has.
	maxMirrorEvents = 100_000
	// equalTimeout bounds the time until the copy equals a crawl.
	equalTimeout = 5 * time.Minute
)

// mirrorDrill is a deployment behind an edge, whose changes a program follows.
type mirrorDrill struct {
	*historyRun

	// program is the path of the example, folder what it keeps up to date.
	program, folder string
	follower        *env.Process
	tap             *changesTap
	// quiet is held while nothing may be imported.
	quiet  sync.Mutex
	result mirrorResult
}

// mirrorResult is what the report says.
type mirrorResult struct {
	seed                    uint64
	lasted                  time.Duration
	sets, ballots           int
	requests, rows, expired int
	comparisons, files      int
	faults                  map[string]int
}

// TestMirror has docs/examples/mirror follow the changes for PNYX_TEST_MIRROR while random data is imported and
// everything breaks: its copy equals a crawl between and in the end. PNYX_TEST_SEED plays a seed again,
// PNYX_TEST_MIRROR_REPORT names the file of what it found.
func TestMirror(t *testing.T) {
	length, seed := lasting(t, "PNYX_TEST_MIRROR", "make test-mirror"), newSeed(t)
	d := newMirrorDrill(t, seed)
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); d.clients.Wait() })
	d.ctx = ctx
	d.clients.Go(func() { d.importing(ctx) })
	began := time.Now()
	for n, event := range histories.Schedule(seed, d.breakages(), maxMirrorEvents) {
		if n%mirrorBatches == 0 {
			d.wantEqual()
			if time.Since(began) >= length {
				break
			}
		}
		d.suffer(event, histories.Client(seed, -2-n))
	}
	stop()
	d.clients.Wait()
	d.wantEqual()
	d.result.lasted = time.Since(began)
	d.result.requests, d.result.rows, d.result.expired = d.tap.counts()
	t.Log(d.result.String())
	if path := os.Getenv("PNYX_TEST_MIRROR_REPORT"); path != "" {
		env.WantError(t, nil, os.WriteFile(path, []byte(d.result.String()), 0o600))
	}
}

// newMirrorDrill starts everything, with a copy that is up to date.
func newMirrorDrill(t *testing.T, seed uint64) *mirrorDrill {
	t.Helper()
	dir := t.TempDir()
	data := &dataset{data: filepath.Join(dir, "none")}
	s := newDeployment(t, data, deploymentOptions{
		workers: 2, apis: 2, sentinels: true,
		environ: []string{
			"PNYX_CACHE_TIMEOUT=1s", "PNYX_LIMIT_TIMEOUT=1s", "PNYX_TRUSTED_PROXIES=127.0.0.0/8",
			"PNYX_INTERNAL_TOKEN=" + env.InternalToken,
		},
	})
	s.poll = &poll{}
	d := &mirrorDrill{
		historyRun: &historyRun{deployment: s, seed: seed}, program: filepath.Join(dir, "mirror"), folder: filepath.Join(dir, "copy"),
		result: mirrorResult{seed: seed, faults: map[string]int{}},
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.program, "pnyx/docs/examples/mirror")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v: %s", err, out)
	}
	for _, line := range pollLines {
		d.importUntil(t.Context(), s.line(line))
	}
	d.importUntil(t.Context(), d.set(rand.New(rand.NewPCG(seed, 0))))
	_, data.token = s.issue()
	s.open()
	d.tap = newChangesTap(t, s.startEdge().base)
	d.follower = d.follow(d.tap.URL, d.folder)
	return d
}

// breakages are the faults of a deployment with Sentinels, without faults of payments.
func (d *mirrorDrill) breakages() (breakages []histories.Breakage) {
	d.kind.faults = append(sentinelFaults(), slices.DeleteFunc(processFaults(), func(f historyFault) bool {
		return strings.HasPrefix(f.Name, "the facilitator")
	})...)
	d.kind.faults = append(d.kind.faults, breakage("the mirror is killed", 2*time.Second, func(*historyRun, *rand.Rand) func() {
		d.follower.Kill()
		return d.follower.Start
	}))
	for _, fault := range d.kind.faults {
		breakages = append(breakages, fault.Breakage)
	}
	return breakages
}

// suffer breaks what an event says, and repairs it.
func (d *mirrorDrill) suffer(event histories.Event, random *rand.Rand) {
	d.tb.Helper()
	wait(d.ctx, event.Calm)
	var mends []func()
	for _, i := range event.Faults {
		fault := d.kind.faults[i]
		d.tb.Logf("%s: %s, for %s", time.Now().Format(time.TimeOnly), fault.Name, event.Lasts.Round(time.Millisecond))
		d.result.faults[fault.Name]++
		if mend := fault.breaks(d.historyRun, random); mend != nil {
			mends = append(mends, mend)
		}
	}
	wait(d.ctx, event.Lasts)
	for _, mend := range mends {
		mend()
	}
}

// importing imports at random, until ctx ends.
func (d *mirrorDrill) importing(ctx context.Context) {
	random := histories.Client(d.seed, 0)
	for wait(ctx, time.Duration(random.Int64N(int64(2*time.Second)))) {
		d.quiet.Lock()
		if random.IntN(3) == 0 {
			d.importUntil(ctx, d.set(random))
			d.result.sets++
		} else {
			d.importUntil(ctx, d.line(d.poll.next()))
			d.result.ballots++
		}
		d.quiet.Unlock()
	}
}

// set writes one of a few data sets, with a number of ballots and as of a time that differ.
func (d *mirrorDrill) set(random *rand.Rand) (folder string) {
	d.tb.Helper()
	folder = filepath.Join(d.dir, fmt.Sprint("set-", random.Uint64()))
	now := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -random.IntN(20))
	ballots := 300 + random.IntN(1200)
	_, err := d.try("generate", "--seed", fmt.Sprint(1+random.IntN(mirrorSets)), "--daos", "4", "--proposals", "20",
		"--ballots", fmt.Sprint(ballots), "--largest", fmt.Sprint(ballots/4), "--now", now.Format(time.RFC3339), folder)
	if err != nil {
		d.tb.Error(err)
	}
	return folder
}

// importUntil imports files, as often as it takes, and removes them.
func (d *mirrorDrill) importUntil(ctx context.Context, path string) {
	for {
		if _, err := d.try("import", path); err == nil || !wait(ctx, time.Second) {
			break
		}
	}
	env.WantError(d.tb, nil, os.RemoveAll(path))
}

// follow runs the program on a folder, and waits until it has read everything once.
func (d *mirrorDrill) follow(base, folder string) *env.Process {
	d.tb.Helper()
	running := env.NewProcess(d.tb, d.program, []string{"PNYX_TOKEN=" + d.dataset.token}, base, folder)
	running.Start()
	env.Within(d.tb, equalTimeout, func() error {
		_, err := os.Stat(filepath.Join(folder, "cursor"))
		return err
	})
	return running
}

// awaitPublished waits until everything that is committed by now is published.
func (d *mirrorDrill) awaitPublished() {
	d.tb.Helper()
	now := float64(time.Now().UnixMilli()) / 1000
	env.Within(d.tb, equalTimeout, func() error {
		leading := d.leader()
		through, err := leading.metric("pnyx_publish_sealed_through_timestamp_seconds")
		unsettled, of := leading.metric("pnyx_publish_unsettled_daos")
		if err := errors.Join(err, of); err != nil || through <= now || unsettled > 0 {
			return fmt.Errorf("published through %.3f, want %.3f; %v DAOs unsettled: %w", through, now, unsettled, err)
		}
		return nil
	})
}

// wantEqual waits, while nothing is imported, until the copy equals a crawl of each node.
func (d *mirrorDrill) wantEqual() {
	d.tb.Helper()
	d.quiet.Lock()
	defer d.quiet.Unlock()
	began := time.Now()
	d.awaitPublished()
	for _, n := range d.apis {
		env.Within(d.tb, equalTimeout, func() error {
			fresh := filepath.Join(d.dir, "crawl")
			if err := os.RemoveAll(fresh); err != nil {
				return err
			}
			d.follow(n.base, fresh).Kill()
			want, err := mirrorFiles(fresh)
			got, of := mirrorFiles(d.folder)
			if err := errors.Join(err, of); err != nil || len(want) == 0 {
				return fmt.Errorf("read everything: %d files, %w", len(want), err)
			}
			d.result.files = len(want)
			return mirrorDifferences(got, want)
		})
		d.result.comparisons++
	}
	d.tb.Logf("%s: equal after %s, %d files", time.Now().Format(time.TimeOnly), time.Since(began).Round(time.Millisecond), d.result.files)
}
