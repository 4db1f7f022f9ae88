package drills

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pnyx/test/env"
)

// maxConcurrency bounds the requests under way: what does not fit counts as broken.
const maxConcurrency = 1000

// verdict is the outcome of a request.
type verdict int

const (
	// right is an answer with the right data.
	right verdict = iota
	// refused is a documented error with its Retry-After.
	refused
	// broken is a request without a response.
	broken
	// wrong is anything else: an answer with wrong data, or an error in a wrong form.
	wrong
)

// outcome is one request's.
type outcome struct {
	at      time.Time // when it was over
	took    time.Duration
	verdict verdict
	stale   bool
	// notConnected is a broken request that opened no connection.
	notConnected bool
	// metered says that it was sent with the load's token, status how it was answered.
	metered bool
	status  int
}

// load sends requests at a steady rate until it is stopped, and checks every response.
type load struct {
	tb    testing.TB
	world *dataset
	poll  *poll
	rate  int // requests a second
	cold  int // percent of them that are for cold pages
	asked int // cold pages
	// bases are the addresses of API nodes, asked in turn.
	bases []string
	// clockIsWrong turns off checks that compare times.
	clockIsWrong bool
	// token is the token of its requests.
	token string

	cancel   context.CancelFunc
	running  sync.WaitGroup
	underWay atomic.Int64

	mu       sync.Mutex
	outcomes []outcome
	// held holds the free addresses that a node has answered, if nodes stay: they are never 503 from then on.
	held map[string]bool
	// problems are the first wrong responses.
	problems []string
	// refusals says what was refused, and how often.
	refusals map[string]int
}

// newLoad prepares a load of a number of requests a second.
func newLoad(tb testing.TB, w *dataset, p *poll, rate, cold int, bases ...string) *load {
	tb.Helper()
	return &load{tb: tb, world: w, poll: p, rate: rate, cold: cold, bases: bases, token: w.token, refusals: map[string]int{}}
}

// start starts the load, which ends with the test or with stop.
func (l *load) start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.running.Go(func() { l.run(ctx) })
	l.tb.Cleanup(l.stop)
}

// stop ends the load and waits for its open requests.
func (l *load) stop() {
	l.cancel()
	l.running.Wait()
}

// run sends requests when they are due, whether or not earlier ones are complete.
func (l *load) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second / time.Duration(l.rate))
	defer ticker.Stop()
	chance := rand.New(rand.NewPCG(1, 2))
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		check := l.pick(n, chance)
		if l.underWay.Add(1) > maxConcurrency {
			l.underWay.Add(-1)
			l.note(outcome{at: time.Now(), verdict: broken}, "too many requests under way")
			continue
		}
		base := l.bases[n%len(l.bases)]
		l.running.Go(func() {
			defer l.underWay.Add(-1)
			check(base)
		})
	}
}

// pick chooses the next request: free and with a token what is not cold and not about the poll, which are 10 % of
// all. Cold pages are asked in turn, so that each is cold for as long as can be.
func (l *load) pick(n int, chance *rand.Rand) func(base string) {
	w := l.world
	switch part := chance.IntN(100); {
	case part < 10:
		questions := l.poll.questions()
		return l.moving(questions[n%len(questions)])
	case part < 10+l.cold:
		l.asked++
		return l.fixed(w.cold[l.asked%len(w.cold)], withToken(l.token))
	case part%2 == 0:
		return l.fixed(w.free[chance.IntN(len(w.free))], nil)
	default:
		return l.fixed(w.paid[chance.IntN(len(w.paid))], withToken(l.token))
	}
}

// fixed sends a question with one right answer.
func (l *load) fixed(q question, headers map[string]string) func(string) {
	return func(base string) {
		l.sendChecked(base+q.path, headers, func(r *reply) error { return q.check(r) })
	}
}

func (q question) check(r *reply) error {
	next := ""
	if r.Meta.Page != nil && r.Meta.Page.NextCursor != nil {
		next = *r.Meta.Page.NextCursor
	}
	switch {
	case q.earlier:
		want := env.Plain(q.data)
		if r.dossierPends() {
			return nil
		}
		if err := q.later.check(q.path, want, env.WithoutAdditions(want, env.Plain(r.Data))); err != nil {
			return err
		}
		if (q.next == "") != (next == "") {
			return fmt.Errorf("next cursor is %q, want one: %t", next, q.next != "")
		}
	case !bytes.Equal(r.Data, q.data) && !r.dossierPends():
		return fmt.Errorf("got %.600s, want %.600s", r.Data, q.data)
	case next != q.next:
		return fmt.Errorf("next cursor is %q, want %q", next, q.next)
	}
	return nil
}

// moving sends a question about the poll.
func (l *load) moving(q pollQuestion) func(string) {
	var with map[string]string
	if !q.free {
		with = withToken(l.token)
	}
	return func(base string) {
		url := base + q.path
		l.sendChecked(url, with, func(r *reply) error {
			casts, err := q.read(r.Data)
			if err != nil {
				return err
			}
			return l.poll.plausible(casts, r)
		})
	}
}

// errRefused is the result of a check for an error that counts as a right answer.
var errRefused = errors.New("refused")

// sendChecked sends a request and records its outcome. Check looks at an answer and at given errors.
func (l *load) sendChecked(url string, headers map[string]string, check func(*reply) error, statuses ...int) {
	began := time.Now()
	r := ask(url, headers)
	o := outcome{
		at: time.Now(), took: time.Since(began), stale: r.Meta.Readiness.Status == "stale", metered: headers[tokenHeader] != "", status: r.status,
	}
	var err error
	switch {
	case r.transport != nil:
		o.verdict, err = broken, r.transport
		o.notConnected = errors.Is(err, syscall.ECONNREFUSED)
	case r.dishonest(l.clockIsWrong) != nil:
		o.verdict, err = wrong, r.dishonest(l.clockIsWrong)
	case r.status == http.StatusOK || slices.Contains(statuses, r.status):
		switch err = check(&r); {
		case errors.Is(err, errRefused):
			o.verdict, err = refused, nil
		case err != nil:
			o.verdict = wrong
		}
	case r.status == http.StatusServiceUnavailable && l.isHeld(url):
		o.verdict, err = wrong, errors.New("the node holds an answer")
	case r.status == http.StatusServiceUnavailable:
		o.verdict = refused
	default:
		o.verdict, err = wrong, fmt.Errorf("an answer is due")
	}
	problem := ""
	if err != nil {
		problem = fmt.Sprintf("%s GET %s: %d %v %.300s", o.at.Format("15:04:05.000"), url, r.status, err, r.text)
	}
	l.note(o, problem)
	if headers == nil && len(statuses) == 0 && o.verdict == right { // free
		l.hold(url)
	}
	if o.verdict == refused {
		l.noteRefusal(url, &r)
	}
}

// hold notes that the node holds an answer, where nodes stay.
func (l *load) hold(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		l.held[url] = true
	}
}

// isHeld reports whether the node holds an answer.
func (l *load) isHeld(url string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[url]
}

// noteRefusal counts a refusal by what was asked for, and the reason.
func (l *load) noteRefusal(url string, r *reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reason := ""
	if r.Error != nil {
		reason = r.Error.Code + ": " + r.Error.Message
	}
	path := strings.TrimPrefix(url, l.bases[0])
	l.refusals[fmt.Sprintf("%d %s GET %s", r.status, reason, path)]++
}

// takeRefusals returns what was refused since the last call, the most frequent first.
func (l *load) takeRefusals() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for what, times := range l.refusals {
		lines = append(lines, fmt.Sprintf("%6d × %s", times, what))
	}
	clear(l.refusals)
	slices.Sort(lines)
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

func (l *load) note(o outcome, problem string) {
	const most = 20
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes = append(l.outcomes, o)
	if problem != "" && len(l.problems) < most {
		l.problems = append(l.problems, problem)
	}
}

// tally sums up the outcomes of the requests.
type tally struct {
	requests, refused, broken, notConnected, wrong, stale int
	slowest                                               time.Duration
	// lastFailed is when the last request failed; zero for never.
	lastFailed time.Time
}

func (l *load) tally() (t tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.requests = len(l.outcomes)
	for _, o := range l.outcomes {
		switch o.verdict {
		case right:
		case refused:
			t.refused++
		case broken:
			t.broken++
			if o.notConnected {
				t.notConnected++
			}
		case wrong:
			t.wrong++
		}
		if o.stale {
			t.stale++
		}
		if o.verdict != right && o.at.After(t.lastFailed) {
			t.lastFailed = o.at
		}
		t.slowest = max(t.slowest, o.took)
	}
	return t
}

// metered counts what was sent with the load's token, and how much of it was answered.
func (l *load) metered() (requests, answers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.outcomes {
		if o.metered {
			requests++
		}
		if o.metered && o.status == http.StatusOK {
			answers++
		}
	}
	return requests, answers
}

// askEverything asks every question once more, a quarter of the cold ones, until it is answered.
func (l *load) askEverything() {
	l.tb.Helper()
	questions := slices.Concat(l.world.free, l.world.paid, l.world.cold[:len(l.world.cold)/4])
	var asking sync.WaitGroup
	next := make(chan question)
	for range 4 {
		asking.Go(func() {
			for q := range next {
				l.askUntilAnswered(q)
			}
		})
	}
	for _, q := range questions {
		next <- q
	}
	close(next)
	asking.Wait()
}

func (l *load) askUntilAnswered(q question) {
	var r reply
	for range 60 {
		r = ask(l.bases[0]+q.path, l.world.headers())
		if r.transport == nil && r.status == http.StatusOK {
			if err := q.check(&r); err != nil {
				l.tb.Errorf("afterwards, GET %s: %v", q.path, err)
			}
			return
		}
		wait(context.Background(), 500*time.Millisecond)
	}
	l.tb.Errorf("afterwards, GET %s: %d %v %s", q.path, r.status, r.transport, r.text)
}

// importing casts ballots, one every so often, until ctx ends, each until it succeeds.
func (s *deployment) importing(ctx context.Context, p *poll, every time.Duration) {
	for ctx.Err() == nil {
		line := p.next()
		for s.importLine(line) != nil {
			if !wait(ctx, every) {
				return
			}
		}
		p.done()
		wait(ctx, every)
	}
}

// wait pauses, and reports whether ctx is still alive.
func wait(ctx context.Context, while time.Duration) bool {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
