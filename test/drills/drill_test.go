package drills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
)

const (
	drillRate = 40 // requests a second
	drillCold = 20 // percent of them, for pages made on demand
	// importInterval is how often a ballot is imported.
	importInterval = time.Second
	// calmPeriod is how long a drill goes on before the fault, and after the recovery.
	calmPeriod = 4 * time.Second
	// recoveryTimeout bounds the recovery.
	recoveryTimeout = 2 * time.Minute
)

type drill struct {
	name string
	// fault describes the fault in a sentence.
	fault      string
	deployment deploymentOptions
	// lasts is the time until the fault is repaired; 0 for a fault that repairs itself.
	lasts time.Duration
	// breaks causes the fault, and returns its repair: nil if it repairs itself.
	breaks func(s *deployment) (mend func())
	// endsConnections allows requests without any response: the process ends without a load balancer.
	endsConnections bool
	// mustNotFail allows no refused requests.
	mustNotFail bool
	// clockIsWrong turns off the checks that compare the clocks of two machines.
	clockIsWrong bool
	// after makes checks of the one drill, and may return a remark.
	after func(s *deployment) (remark string)
}

type result struct {
	drill    *drill
	tally    tally
	bought   int
	recovery time.Duration
	remark   string
	// failed is true for a drill whose test failed.
	failed bool
}

// TestDrills runs every drill and writes the table to PNYX_TEST_DRILLS; "-" for no file.
func TestDrills(t *testing.T) {
	file := gate(t, "PNYX_TEST_DRILLS", "make test-drills")
	w := loadDataset(t)
	t.Logf("%s questions", w)
	var results []result
	for _, d := range drills() {
		t.Run(d.name, func(t *testing.T) {
			r := result{drill: &d}
			defer func() { // also of a drill that ends early: the table shows what failed
				if r.failed = t.Failed(); !t.Skipped() {
					results = append(results, r)
					t.Log(r.row())
				}
			}()
			r = d.play(t, w)
		})
	}
	if file == "-" {
		return
	}
	env.WantError(t, nil, writeReport(file, results))
}

func drills() []drill {
	var all []drill
	for _, some := range [][]drill{redisDrills(), warehouseDrills(), workerDrills(), paymentDrills(), networkDrills(), clockDrills(), processDrills()} {
		all = append(all, some...)
	}
	return all
}

// play puts a deployment under load, causes the fault, repairs it, and waits for recovery.
func (d *drill) play(t *testing.T, w *dataset) result {
	t.Helper()
	s := newDeployment(t, w, d.deployment)
	s.open()
	r := s.underLoad(d)
	r.drill = d
	if d.after != nil {
		r.remark = d.after(s)
	}
	return r
}

// underLoad is the part of a drill in which requests are sent.
func (s *deployment) underLoad(d *drill) (r result) {
	t := s.tb
	s.poll = s.dataset.poll.begin()
	s.poll.clockIsWrong = d.clockIsWrong
	load := newLoad(t, s.dataset, s.poll, drillRate, drillCold, s.bases()...)
	load.clockIsWrong = d.clockIsWrong
	if s.front == "" && !d.endsConnections {
		load.held = map[string]bool{}
	}
	s.load = load
	load.start()
	payer := newPayer(t, load, s.ledger)
	stop := s.busy(payer)
	defer stop()

	wait(t.Context(), calmPeriod)
	before := load.tally()
	broken := time.Now()
	mend := d.breaks(s)
	wait(t.Context(), d.lasts)
	if mend != nil {
		mend()
		broken = time.Now()
	}
	recovered := s.recovered(broken)
	wait(t.Context(), calmPeriod)
	stop()
	load.stop()
	payer.settle(s.apis[0].base)
	load.askEverything()

	r.tally, r.bought = load.tally(), payer.bought
	r.recovery = max(0, recovered.Sub(broken), r.tally.lastFailed.Sub(broken))
	if before.wrong+before.broken > 0 {
		t.Error("it went wrong before anything was broken")
	}
	if r.tally.wrong > 0 || r.tally.broken > 0 && !d.endsConnections {
		t.Errorf("%d wrong, %d without an answer:\n%s", r.tally.wrong, r.tally.broken, strings.Join(load.problems, "\n"))
	}
	if r.tally.refused > 0 && d.mustNotFail {
		t.Errorf("%d refused", r.tally.refused)
	}
	return r
}

// busy imports ballots and makes payments until it is stopped.
func (s *deployment) busy(p *payer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() { s.importing(ctx, s.poll, importInterval) })
	busy.Go(func() { p.run(ctx) })
	stop = func() {
		cancel()
		busy.Wait()
	}
	s.tb.Cleanup(stop)
	return stop
}

func (s *deployment) bases() (all []string) {
	if s.front != "" {
		return []string{s.front}
	}
	for _, n := range s.apis {
		all = append(all, n.base)
	}
	return all
}

// recovered returns when every API node is ready and shows a ballot imported after the repair.
func (s *deployment) recovered(mended time.Time) (at time.Time) {
	s.tb.Helper()
	env.Within(s.tb, cmp.Or(s.recovers, recoveryTimeout), func() error {
		if !s.poll.importedSince(mended) {
			return errors.New("nothing was imported since")
		}
		return nil
	})
	casts := s.poll.casts()
	for _, n := range s.apis {
		env.Within(s.tb, cmp.Or(s.recovers, recoveryTimeout), func() error { return errors.Join(n.isReady(), s.shows(n, casts)) })
	}
	return time.Now()
}

// shows reports whether a node has everything about the poll, and is ready.
func (s *deployment) shows(n *node, casts int) error {
	for _, q := range s.poll.questions() {
		r := ask(n.base+q.path, s.dataset.headers())
		if r.transport != nil || r.status != http.StatusOK {
			return fmt.Errorf("GET %s: %d %w %s", q.path, r.status, r.transport, r.text)
		}
		shown, err := q.read(r.Data)
		if err != nil {
			return err
		}
		if shown < casts || r.Meta.Readiness.Status != "ready" {
			return fmt.Errorf("GET %s: %s, %d of %d casts", q.path, r.Meta.Readiness.Status, shown, casts)
		}
	}
	return nil
}
