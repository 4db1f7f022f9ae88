package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
)

// recordedAnswers are the answers about a data set while nothing disturbs the service.
type recordedAnswers struct {
	paths []string
	want  []json.RawMessage
}

// record reads the answers to all paths.
func (k *recordedAnswers) record(t *testing.T, i *instance) {
	t.Helper()
	k.want = make([]json.RawMessage, len(k.paths))
	for n, path := range k.paths {
		env.Until(t, func() error {
			_, err := i.Read(path, &k.want[n])
			return err
		})
	}
}

// holds waits until all answers equal the recorded ones.
func (k recordedAnswers) holds(t *testing.T, i *instance) {
	t.Helper()
	for n, path := range k.paths {
		env.Until(t, func() error {
			if ready, problem := i.compareAnswer(path, k.want[n]); !ready || problem != "" {
				return fmt.Errorf("GET %s: answered %t: %s", path, ready, problem)
			}
			return nil
		})
	}
}

// outcomes counts responses by outcome. It is safe for concurrent use.
type outcomes struct {
	mu                sync.Mutex
	answered, refused int
	wrong             map[string]string
	// first and last are the times of refusals.
	first, last time.Time
}

// ask requests a path and counts the outcome.
func (o *outcomes) ask(i *instance, path string, want json.RawMessage) {
	answered, difference := i.compareAnswer(path, want)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case difference != "":
		o.wrong[path] = difference
	case answered:
		o.answered++
	default:
		o.refused++
		o.last = time.Now()
		if o.first.IsZero() {
			o.first = o.last
		}
	}
}

// during requests all paths repeatedly while a fault is active, and until all are
// answered again. Each response must be the recorded answer or a 503.
func (k recordedAnswers) during(t *testing.T, i *instance, what string, happen func(o *outcomes)) {
	t.Helper()
	o := &outcomes{wrong: map[string]string{}}
	var asking sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(stop)
		asking.Wait()
	})
	defer end()
	for first := range env.FillConcurrency {
		asking.Go(func() {
			for n := first; ; n = (n + 1) % len(k.paths) {
				select {
				case <-stop:
					return
				default:
					o.ask(i, k.paths[n], k.want[n])
				}
			}
		})
	}
	began := time.Now()
	happen(o)
	happened := time.Now()
	k.holds(t, i)
	held := time.Now()
	end()
	t.Logf("%s, in %.1f s: %d right answers, %d refusals within %.1f s, %d wrong answers; all answered again after %.1f s", what,
		happened.Sub(began).Seconds(), o.answered, o.refused, o.last.Sub(o.first).Seconds(), len(o.wrong), held.Sub(happened).Seconds())
	reportWrong(t, o.wrong)
	if o.answered == 0 {
		t.Errorf("%s: got no answer, want some", what)
	}
}

// saysAgain waits until the instance has logged a text a number of times.
func (i *instance) saysAgain(text string, times int) {
	i.TB.Helper()
	env.Until(i.TB, func() error {
		if said := strings.Count(i.Output.String(), text); said < times {
			return fmt.Errorf("%q is logged %d times, want %d", text, said, times)
		}
		return nil
	})
}
