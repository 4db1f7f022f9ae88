package fetch_test

import (
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/fetch"
	"pnyx/test/check"
)

func requestsOf(t *testing.T, f fixture, outcome string) (count float64) {
	t.Helper()
	families := check.Must(f.metrics.Gather())(t)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if family.GetName() == "pnyx_follow_requests_total" && label.GetName() == "outcome" && label.GetValue() == outcome {
					count += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return count
}

func baseOf(t *testing.T, f fixture) *url.URL {
	t.Helper()
	return check.Must(url.Parse(f.server.URL))(t)
}

func TestAHostIsNotAskedBeforeTheTimeThatItStates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		"seconds":                  {429, map[string]string{"Retry-After": "58"}, 58 * time.Second},
		"part of a second":         {429, map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		"a date":                   {429, map[string]string{"Retry-After": start().Add(90 * time.Second).Format(http.TimeFormat)}, 90 * time.Second},
		"a month":                  {429, map[string]string{"Retry-After": "2592000"}, 10 * time.Minute},
		"infinity":                 {429, map[string]string{"Retry-After": "inf"}, 10 * time.Minute},
		"no time":                  {429, nil, 5 * time.Second},
		"nonsense":                 {429, map[string]string{"Retry-After": "soon"}, 5 * time.Second},
		"the end of a window":      {429, map[string]string{"RateLimit-Limit": "100", "RateLimit-Remaining": "0", "RateLimit-Reset": "20"}, 20 * time.Second},
		"unavailable":              {503, map[string]string{"Retry-After": "7"}, 7 * time.Second},
		"the last of a window":     {200, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "30"}, 30 * time.Second},
		"the last of a key":        {200, map[string]string{"X-Api-Key-Remaining": "0", "X-Api-Key-Reset": "1772600787"}, 20 * time.Second},
		"some are left":            {200, map[string]string{"RateLimit-Remaining": "1", "RateLimit-Reset": "30"}, 0},
		"none left, without reset": {200, map[string]string{"RateLimit-Remaining": "0"}, 0},
		"an advice with success":   {200, map[string]string{"Retry-After": "30"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				for key, value := range test.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(test.status)
			})
			_, err := f.get(t.Context())
			if _, limited := errors.AsType[*fetch.LimitedError](err); limited != (test.status != 200) {
				t.Errorf("got %v for status %d", err, test.status)
			}
			if test.want == 0 {
				if _, err := f.get(t.Context()); err != nil || requests.Load() != 2 {
					t.Errorf("got %v and %d requests, want a second one", err, requests.Load())
				}
				return
			}
			f.clock.Step(test.want - time.Millisecond)
			_, err = f.get(t.Context())
			limited, ok := errors.AsType[*fetch.LimitedError](err)
			if !ok || requests.Load() != 1 {
				t.Fatalf("got %v and %d requests, want that none is sent", err, requests.Load())
			}
			check.Want(t, test.want, limited.Until.Sub(start()), "a pause")
			f.clock.Step(time.Millisecond)
			_, _ = f.get(t.Context())
			check.Want(t, 2, requests.Load(), "requests", "one more when the time has come")
		})
	}
}

func TestRefusalsWithoutATimePauseLongerEachTime(t *testing.T) {
	t.Parallel()
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	var pauses []float64
	for range 9 {
		_, err := f.get(t.Context())
		limited, ok := errors.AsType[*fetch.LimitedError](err)
		if !ok {
			t.Fatalf("got %v, want a LimitedError", err)
		}
		pause := limited.Until.Sub(f.clock.Now())
		pauses = append(pauses, pause.Seconds())
		f.clock.Step(pause)
	}
	want := []float64{5, 10, 20, 40, 80, 160, 320, 600, 600}
	check.WantSame(t, "pauses", want, pauses)
}

func TestAHostThatLetsManyPassIsLeftForNoLongerEachTime(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%12 == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	for range 6 {
		for range 11 {
			_, _ = f.get(t.Context())
		}
		_, err := f.get(t.Context())
		limited, ok := errors.AsType[*fetch.LimitedError](err)
		if !ok || limited.Until.Sub(f.clock.Now()) != 5*time.Second {
			t.Fatalf("got %v, want a pause of five seconds", err)
		}
		f.clock.Step(5 * time.Second)
	}
}

func TestCallersOfOneHostShareItsLimit(t *testing.T) {
	t.Parallel()
	f := serve(t, "/a", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, _ = f.get(t.Context())
	_, err := f.at(t, f.server.URL+"/b").Do(t.Context(), fetch.Request{Method: http.MethodGet})
	if _, limited := errors.AsType[*fetch.LimitedError](err); !limited {
		t.Errorf("got %v, want that the other caller is limited too", err)
	}
}

func TestTheRemainingAllowanceIsKnown(t *testing.T) {
	t.Parallel()
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Limit", "100")
		w.Header().Set("RateLimit-Remaining", "97")
		w.Header().Set("RateLimit-Reset", "40")
	})
	if got := f.client.Allowances(); len(got) != 0 {
		t.Errorf("got %v, want nothing before the first answer", got)
	}
	check.Must(f.get(t.Context()))(t)
	want := []fetch.Allowance{{Host: baseOf(t, f).Host, Limit: 100, Remaining: 97, ResetAt: start().Add(40 * time.Second)}}
	if diff := cmp.Diff(want, f.client.Allowances()); diff != "" {
		t.Error(diff)
	}
}

func FuzzPausesAreBounded(f *testing.F) {
	for _, text := range []string{"58", "0.5", "-1", "1e300", "NaN", "Inf", "-Inf", "1772600787", "Wed, 21 Oct 9999 07:28:00 GMT", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		after, reset := fetch.Pauses(http.Header{"Retry-After": {text}, "Ratelimit-Reset": {text}}, start())
		for _, pause := range []time.Duration{after, reset} {
			if pause < 0 || pause > 10*time.Minute {
				t.Errorf("%q: got %s, want a pause from 0 to 10 minutes", text, pause)
			}
		}
	})
}

// TestAWindowThatJustEndedClosesNothing answers at the beginning of a window with what was
// left of the one before.
func TestAWindowThatJustEndedClosesNothing(t *testing.T) {
	t.Parallel()
	left := "40"
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Limit", "100")
		w.Header().Set("RateLimit-Remaining", left)
		w.Header().Set("RateLimit-Reset", "60")
	})
	ask := func() {
		t.Helper()
		check.Must(f.get(t.Context()))(t)
	}
	ask()
	f.clock.Step(59*time.Second + 500*time.Millisecond)
	left = "0"
	ask()
	f.clock.Step(time.Second)
	left = "98"
	ask()
	f.clock.Step(time.Second)
	left = "0" // within the window it is believed
	ask()
	if _, err := f.get(t.Context()); err == nil {
		t.Error("got an answer, want the limit obeyed")
	}
}
