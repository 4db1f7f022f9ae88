package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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

// during requests all paths while a fault is active, until all are answered as recorded, and not 503.
func (k recordedAnswers) during(t *testing.T, i *instance, happen func()) {
	t.Helper()
	var answered atomic.Int64
	var wrong sync.Map // the differences, by path
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
				case <-time.After(50 * time.Millisecond):
				}
				ready, difference := i.compareAnswer(k.paths[n], k.want[n])
				if difference != "" {
					wrong.Store(k.paths[n], difference)
				} else if ready {
					answered.Add(1)
				}
			}
		})
	}
	happen()
	k.holds(t, i)
	end()
	wrong.Range(func(path, difference any) bool {
		t.Errorf("GET %s (-want +got):\n%s", path, difference)
		return true
	})
	if answered.Load() == 0 {
		t.Error("got no answer, want some")
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
