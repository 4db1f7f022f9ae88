package drills

import (
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
	// importEvery is how often a ballot is imported.
	importEvery = time.Second
	// calm is how long a drill goes on before the fault, and after the recovery.
	calm = 4 * time.Second
	// recoversWithin bounds the recovery.
	recoversWithin = 2 * time.Minute
)

// drill is one thing that goes wrong.
type drill struct {
	name string
	// fault says in a sentence what is done.
	fault string
	stage stageOptions
	// lasts is how long the fault is there before it is mended; one that mends itself
	// is not there at all.
	lasts time.Duration
	// breaks does it, and returns how it is undone: nil if it mends itself.
	breaks func(s *stage) (mend func())
	// endsConnections allows requests without any answer: the process that they reach is
	// ended, with nothing in front of it.
	endsConnections bool
	// mustNotFail allows no refused request either.
	mustNotFail bool
	// clockIsWrong turns off the checks that compare the clocks of two machines.
	clockIsWrong bool
	// after looks at what is particular to the drill, and may return a remark.
	after func(s *stage) (remark string)
}

// result is a line of the table.
type result struct {
	drill    *drill
	tally    tally
	bought   int
	recovery time.Duration
	remark   string
	// failed says that the drill did not show what it should.
	failed bool
}

// TestDrills plays every drill and writes the table to the file that
// PNYX_TEST_DRILLS names; "-" for no file.
func TestDrills(t *testing.T) {
	file := gate(t, "PNYX_TEST_DRILLS", "make test-drills")
	w := makeWorld(t)
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
	if err := writeReport(file, results); err != nil {
		t.Error(err)
	}
}

// drills is the table of all of them.
func drills() []drill {
	var all []drill
	for _, some := range [][]drill{redisDrills(), warehouseDrills(), workerDrills(), paymentDrills(), networkDrills(), clockDrills(), processDrills()} {
		all = append(all, some...)
	}
	return all
}

// play puts a stage under load, breaks it, mends it, and waits for its recovery.
func (d *drill) play(t *testing.T, w *world) result {
	t.Helper()
	s := newStage(t, w, d.stage)
	s.open()
	r := s.underLoad(d)
	r.drill = d
	if d.after != nil {
		r.remark = d.after(s)
	}
	return r
}

// underLoad is the part of a drill in which requests are sent.
func (s *stage) underLoad(d *drill) (r result) {
	t := s.tb
	s.poll = s.world.poll.begin()
	s.poll.clockIsWrong = d.clockIsWrong
	load := newLoad(t, s.world, s.poll, drillRate, drillCold, s.bases()...)
	load.clockIsWrong = d.clockIsWrong
	s.load = load
	load.start()
	payer := newPayer(t, load, s.ledger)
	stop := s.busy(payer)
	defer stop()

	wait(t.Context(), calm)
	before := load.tally()
	broken := time.Now()
	mend := d.breaks(s)
	wait(t.Context(), d.lasts)
	if mend != nil {
		mend()
		broken = time.Now()
	}
	recovered := s.recovered(broken)
	wait(t.Context(), calm)
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

// busy imports and pays until it is stopped.
func (s *stage) busy(p *payer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() { s.importing(ctx, s.poll, importEvery) })
	busy.Go(func() { p.run(ctx) })
	stop = func() {
		cancel()
		busy.Wait()
	}
	s.tb.Cleanup(stop)
	return stop
}

// bases are where the API nodes listen.
func (s *stage) bases() (all []string) {
	if s.front != "" {
		return []string{s.front}
	}
	for _, n := range s.apis {
		all = append(all, n.base)
	}
	return all
}

// recovered waits until every API node is ready and shows a ballot that was imported
// after the fault was mended, and says when that was.
func (s *stage) recovered(mended time.Time) (at time.Time) {
	s.tb.Helper()
	env.Within(s.tb, recoversWithin, func() error {
		if !s.poll.importedSince(mended) {
			return errors.New("nothing was imported since")
		}
		return nil
	})
	casts := s.poll.casts()
	for _, n := range s.apis {
		env.Within(s.tb, recoversWithin, func() error { return errors.Join(n.isReady(), s.shows(n, casts)) })
	}
	return time.Now()
}

// shows says whether a node has everything about the poll, and says it is ready.
func (s *stage) shows(n *node, casts int) error {
	for _, q := range s.poll.questions() {
		r := ask(n.base+q.path, s.world.headers())
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
