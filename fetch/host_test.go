package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/fetch"
	"pnyx/test/check"
)

func TestARequestIsSentAsItIs(t *testing.T) {
	t.Parallel()
	f := serve(t, "/base/?key=k1", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Api-Key"), r.UserAgent(), body)
	})
	answer, err := f.host.Do(t.Context(), fetch.Request{
		Method: http.MethodPost, Path: "/posts.json?before=7", Header: http.Header{"X-Api-Key": {"k2"}}, Body: []byte("{}"),
	})
	if want := "POST /base/posts.json?key=k1&before=7 k2 pnyx (ops@example.org) {}"; err != nil || string(answer.Body) != want {
		t.Errorf("got %s, %v, want %s", answer.Body, err, want)
	}
	answer, err = f.get(t.Context())
	if want := "GET /base/?key=k1  pnyx (ops@example.org) "; err != nil || string(answer.Body) != want {
		t.Errorf("got %s, %v, want %s", answer.Body, err, want)
	}
}

func TestWhatMayPassIsRetriedAndNothingElse(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int64{400: 1, 401: 1, 403: 1, 404: 1, 413: 1, 422: 1, 500: 1, 501: 1, 502: 4, 503: 4, 504: 4} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				w.WriteHeader(status)
			})
			_, err := f.get(t.Context())
			answered, ok := errors.AsType[*fetch.StatusError](err)
			if !ok || answered.Status != status {
				t.Errorf("got %v, want a StatusError", err)
			}
			check.Want(t, want, requests.Load(), "requests")
		})
	}
}

func TestARetryThatSucceedsIsASuccess(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	f := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch requests.Add(1) {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
		case 2:
			panic(http.ErrAbortHandler) // the connection ends
		default:
			_, _ = w.Write(body)
		}
	})
	answer, err := f.host.Do(t.Context(), fetch.Request{Method: http.MethodPost, Body: []byte("same")})
	if err != nil || string(answer.Body) != "same" {
		t.Errorf("got %s, %v, want the same body again", answer.Body, err)
	}
	if waited := f.clock.Now().Sub(start()); waited <= 0 || waited > 750*time.Millisecond {
		t.Errorf("got pauses of %s, want 750 ms at most and some", waited)
	}
}

func TestAnErrorThatTheCallerUnderstandsIsAnAnswer(t *testing.T) {
	t.Parallel()
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("mine"))
	})
	answer, err := f.host.Do(t.Context(), fetch.Request{
		Method: http.MethodGet, Accepts: func(status int, body []byte) bool { return status == 503 && string(body) == "mine" },
	})
	if err != nil || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("got %d, %v, want the answer", answer.Status, err)
	}
}

func TestAnUnchangedAnswerIsNoError(t *testing.T) {
	t.Parallel()
	f := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"v1"`)
	})
	first := check.Must(f.get(t.Context()))(t)
	again, err := f.host.Do(t.Context(), fetch.Request{
		Method: http.MethodGet, Header: http.Header{"If-None-Match": {first.Header.Get("ETag")}},
	})
	if err != nil || again.Status != http.StatusNotModified {
		t.Errorf("got %d, %v, want 304", again.Status, err)
	}
}

func TestLargeAnswersAreRefused(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	for range 40 {
		_, _ = packer.Write(make([]byte, 1<<20))
	}
	_ = packer.Close()
	for name, handler := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, "", handler)
			if _, err := f.get(t.Context()); !errors.Is(err, fetch.ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
		})
	}
}

func TestIncompleteAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"a wrong length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("short"))
		},
		"no gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("plain"))
		},
		"a slow body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("["))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, "", handler)
			f.client.Impatient(300 * time.Millisecond)
			_, err := f.get(t.Context())
			if err == nil {
				t.Fatal("got no error")
			}
			check.Want(t, 4, requestsOf(t, f, "connection"), "requests without an answer")
		})
	}
}

func TestACanceledRequestEndsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var requests atomic.Int64
	f := serve(t, "", func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		cancel()
		<-r.Context().Done()
	})
	if _, err := f.get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was canceled", err)
	}
	check.Want(t, 1, requests.Load(), "requests")
}

func TestErrorsHaveNoKeys(t *testing.T) {
	t.Parallel()
	const key = "s3cret-key-123456"
	for name, handler := range map[string]http.HandlerFunc{
		"a status":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"a limit":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"a lost answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a redirect loop": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
		},
		"a bad location": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://%zz"+r.URL.RequestURI()+r.Header.Get("X-Api-Key"))
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, "", handler)
			at := strings.Replace(f.server.URL, "://", "://"+key+":"+key+"@", 1) + "/v2/" + key + "?k=" + key
			host := f.at(t, at)
			for range 6 { // until the host rests
				_, err := host.Do(t.Context(), fetch.Request{
					Method: http.MethodGet, Path: "?t=" + key, Header: http.Header{"X-Api-Key": {key}},
				})
				if err == nil || strings.Contains(err.Error(), key) {
					t.Fatalf("got %v, want an error without keys", err)
				}
			}
		})
	}
	f := serve(t, "", func(http.ResponseWriter, *http.Request) {})
	host := f.at(t, f.server.URL+"/v2/"+key)
	f.server.Close()
	if _, err := host.Do(t.Context(), fetch.Request{Method: http.MethodGet}); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v, want an error without keys", err)
	}
}

func TestAHostThatFailsRests(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			failingHostRests(t, status)
		})
	}
}

func failingHostRests(t *testing.T, status int) {
	t.Helper()
	var requests atomic.Int64
	var works atomic.Bool
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		if !works.Load() {
			w.WriteHeader(status)
		}
	})
	for range 5 {
		if _, err := f.get(t.Context()); err == nil {
			t.Fatal("got no error")
		}
	}
	sent := requests.Load()
	_, err := f.get(t.Context())
	resting, ok := errors.AsType[*fetch.UnavailableError](err)
	if !ok || requests.Load() != sent {
		t.Fatalf("got %v after %d more requests, want that the host rests", err, requests.Load()-sent)
	}
	f.clock.Step(resting.Until.Sub(f.clock.Now()))
	works.Store(true)
	for range 2 {
		if _, err := f.get(t.Context()); err != nil {
			t.Errorf("got %v, want that the host is asked again", err)
		}
	}
}

func TestAHostIsAskedAtItsPace(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	f := serve(t, "", func(http.ResponseWriter, *http.Request) {})
	base := f.at(t, f.server.URL)
	f.client.Host(baseOf(t, f), fetch.Pace{Requests: 60, Per: time.Minute, Burst: 2})
	for range 4 {
		check.Must(base.Do(t.Context(), fetch.Request{Method: http.MethodGet}))(t)
		at = append(at, f.clock.Now().Sub(start()).Round(time.Millisecond))
	}
	if want := []time.Duration{0, 0, time.Second, 2 * time.Second}; !slices.Equal(at, want) {
		t.Errorf("got requests at %v, want %v: two at once, then one a second", at, want)
	}
}

func TestAttackALargeAnswerOfAHostWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	var started atomic.Int64
	release := make(chan struct{})
	f := serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("a"), 1<<20)) // no more is read without a place
		started.Add(1)
		<-release
		_, _ = w.Write(bytes.Repeat([]byte("a"), 1<<20))
	})
	read := make(chan error)
	for range 4 {
		go func() {
			answer, err := f.get(t.Context())
			if err == nil && len(answer.Body) != 2<<20 {
				err = fmt.Errorf("got %d bytes", len(answer.Body))
			}
			read <- err
		}()
	}
	for started.Load() < 4 {
		runtime.Gosched()
	}
	if held := f.host.LargeAnswers(); held > 1 {
		t.Errorf("got %d large answers of one host at once", held)
	}
	close(release)
	for range 4 {
		if err := <-read; err != nil {
			t.Error(err)
		}
	}
}
