package warehouse

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// serving returns turns of a server with so many threads, and a caller that waits.
func serving(threads uint64) *turns {
	t := newTurns(threads)
	t.serving.Add(1)
	return t
}

func TestStatementsYieldOnlyWhileCallersWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		turns   *turns
		with    func(context.Context) context.Context
		threads int
		turn    bool
	}{
		"urgent":               {serving(8), func(ctx context.Context) context.Context { return ctx }, 0, false},
		"publication":          {serving(8), Yielding, 4, true},
		"publication, one cpu": {serving(1), Yielding, 1, true},
		"background":           {serving(8), InBackground, 1, true},
		"publication alone":    {newTurns(8), Yielding, 0, false},
		"background alone":     {newTurns(8), InBackground, 1, true},
		"backup":               {nil, Yielding, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			threads, end := test.turns.yield(test.with(t.Context()))
			if threads != test.threads || (end != nil) != test.turn {
				t.Errorf("got %d threads, turn %t, want %d, %t", threads, end != nil, test.threads, test.turn)
			}
		})
	}
}

func TestStatementsThatYieldRunOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := serving(2)
		_, end := turns.yield(Yielding(t.Context()))
		began, next := time.Now(), make(chan time.Duration)
		go func() {
			_, end := turns.yield(Yielding(t.Context()))
			next <- time.Since(began)
			end()
		}()
		<-time.After(maxTurnWait / 2)
		end()
		if got := <-next; got != maxTurnWait/2 {
			t.Errorf("the second statement began after %s, want it at the end of the first, after %s", got, maxTurnWait/2)
		}
		end() // again, as by a second Close
		if _, end := turns.yield(Yielding(t.Context())); end == nil {
			t.Error("got no turn for the third statement, want one")
		}
	})
}

func TestNoStatementWaitsLongForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := serving(2)
		turns.yield(Yielding(t.Context()))
		for range 3 {
			began := time.Now()
			threads, end := turns.yield(Yielding(t.Context()))
			if got := time.Since(began); got != maxTurnWait || threads != 1 || end != nil {
				t.Errorf("got %d threads after %s, want 1 after %s", threads, got, maxTurnWait)
			}
		}
		ended, stop := context.WithCancel(Yielding(t.Context()))
		stop()
		began := time.Now()
		turns.yield(ended)
		if got := time.Since(began); got != 0 {
			t.Errorf("a statement that is no longer wanted waited %s, want 0", got)
		}
	})
}

// Whether or not callers wait, publications have the other cores for themselves.
func TestStatementsInTheBackgroundRunOneAtATime(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string]func() *turns{
		"callers wait": func() *turns { return serving(2) }, "nobody waits": func() *turns { return newTurns(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns, began := turns(), time.Now()
				ended := make(chan time.Duration)
				for range 3 {
					go func() {
						_, end := turns.yield(InBackground(t.Context()))
						<-time.After(time.Second)
						end()
						ended <- time.Since(began)
					}()
				}
				for i := range 3 {
					if got, want := <-ended, time.Duration(i+1)*time.Second; got != want {
						t.Errorf("statement %d ended after %s, want %s", i, got, want)
					}
				}
				if _, end := turns.yield(Yielding(t.Context())); time.Since(began) != 3*time.Second {
					t.Errorf("got a turn after %s, want one at once", time.Since(began))
				} else if end != nil {
					end()
				}
			})
		})
	}
}

func TestNoStatementInTheBackgroundWaitsLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, began := newTurns(2), time.Now()
		_, first := turns.yield(InBackground(t.Context()))
		threads, end := turns.yield(InBackground(t.Context()))
		if got := time.Since(began); got != maxBackgroundWait || threads != 1 || end != nil {
			t.Errorf("got %d threads after %s, want 1 after %s", threads, got, maxBackgroundWait)
		}
		first()
		if _, end := turns.yield(InBackground(t.Context())); end == nil || time.Since(began) != maxBackgroundWait {
			t.Errorf("got a turn after %s, want one at once", time.Since(began))
		}
	})
}

func TestCallersAreExpectedForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Warehouse{Conn: connection{turns: newTurns(2)}}
		one, two := w.Serve(), w.Serve()
		one()
		<-time.After(servingFor)
		if !w.Conn.turns.areNeeded() {
			t.Error("one caller still waits: got no turns, want turns")
		}
		two()
		if !w.Conn.turns.areNeeded() {
			t.Error("a moment later: got no turns, want turns")
		}
		<-time.After(servingFor)
		if w.Conn.turns.areNeeded() {
			t.Error("when nobody has waited for long: got turns, want none")
		}
	})
}
