package drills

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/test/env"
)

const (
	floodConnections = 200
	// floodPause is between two requests of a connection, 4,000 a second for all: the flood shares the cores.
	floodPause      = 50 * time.Millisecond
	honestRate      = 50 // requests a second, all honest callers together
	honestAddresses = 10

	// What honest callers may notice of a flood, on two cores.
	maxHonestP99 = 100 * time.Millisecond
	maxNodeMiB   = 150
	// maxRedisRoom is what Redis may use more once the lifetimes of buckets have passed.
	maxRedisRoom = 1 << 20
	redisRest    = 2 * time.Minute
)

type flood struct {
	name string
	// send sends one request, or holds a connection, until ctx ends.
	send sender
}

type sender func(ctx context.Context, client *http.Client, base string)

func floods() []flood {
	request := func(method, path string, headers func() map[string]string) sender {
		return func(ctx context.Context, client *http.Client, base string) {
			r, err := http.NewRequestWithContext(ctx, method, base+path, http.NoBody)
			if err != nil {
				return
			}
			for name, value := range headers() {
				r.Header.Set(name, value)
			}
			if response, err := client.Do(r); err == nil {
				io.Copy(io.Discard, response.Body) //nolint:errcheck // a flood does not care
				response.Body.Close()
			}
		}
	}
	none := func() map[string]string { return nil }
	garbage := func() map[string]string {
		text := fmt.Sprintf(`{"x402Version":2,"payload":{"signature":"0x%x"}}`, rand.Uint64())
		return map[string]string{x402.HeaderPayment: base64.StdEncoding.EncodeToString([]byte(text))}
	}
	unknown := func() map[string]string { return withToken(access.GenerateToken(access.NewTokenID())) }
	return []flood{
		{"garbage payments", request(http.MethodGet, "/v2/proposals?limit=5", garbage)},
		{"bad requests", request(http.MethodGet, "/v2/daos?limit=none", none)},
		{"HEAD requests", request(http.MethodHead, "/v2/daos?limit=100", none)},
		{"half a request", sendHalf},
		{"unknown tokens", request(http.MethodGet, "/v2/proposals?limit=5", unknown)},
	}
}

// sendHalf opens a connection, sends half a request, and waits for the node to give up.
func sendHalf(ctx context.Context, client *http.Client, base string) {
	dial := client.Transport.(*http.Transport).DialContext //nolint:errcheck,forcetypeassert // callerFrom made it
	conn, err := dial(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	fmt.Fprintf(conn, "GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nX-Half: ")
	io.Copy(io.Discard, conn) //nolint:errcheck // it ends when the node or the test closes
}

// callerFrom returns a client with a loopback address of its own: limits are by address.
func callerFrom(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 20}}
}

// TestFlood floods an API node with each kind of useless traffic for PNYX_TEST_FLOOD, beside honest callers, and
// writes what these noticed to PNYX_TEST_FLOOD_REPORT.
func TestFlood(t *testing.T) {
	lasts := env.Must(time.ParseDuration(gate(t, "PNYX_TEST_FLOOD", "make flood")))(t)
	w := loadDataset(t)
	s := newDeployment(t, w, deploymentOptions{environ: []string{"PNYX_FREE_RATE=600"}})
	s.open()
	rows := []floodResult{s.flood("none", lasts, nil)}
	for _, f := range floods() {
		rows = append(rows, s.flood(f.name, lasts, f.send))
	}
	report := floodReport(lasts, rows)
	t.Log(report)
	if path := os.Getenv("PNYX_TEST_FLOOD_REPORT"); path != "" {
		env.WantError(t, nil, os.WriteFile(path, []byte(report), 0o600))
	}
	for _, r := range rows {
		for _, problem := range r.problems() {
			t.Errorf("flood of %s: %s", r.name, problem)
		}
	}
}

type floodResult struct {
	name string
	// sent counts what the flood sent, honest the honest requests.
	sent, honest int
	// limited counts honest requests answered 429, unavailable 503, and failed without the right answer.
	limited, unavailable, failed int
	p50, p99                     time.Duration
	// nodeMiB is the most memory of the API node, redisBefore and redisAfter Redis' memory.
	nodeMiB                 float64
	redisBefore, redisAfter float64
}

func (r floodResult) problems() (found []string) {
	if r.p99 > maxHonestP99 {
		found = append(found, fmt.Sprintf("p99 of honest requests: got %s, want at most %s", r.p99, maxHonestP99))
	}
	if r.nodeMiB > maxNodeMiB {
		found = append(found, fmt.Sprintf("memory of the node: got %.0f MiB, want at most %d", r.nodeMiB, maxNodeMiB))
	}
	if r.redisAfter > r.redisBefore+maxRedisRoom {
		found = append(found, fmt.Sprintf("memory of Redis: got %.1f MiB, want %.1f as before", r.redisAfter/(1<<20), r.redisBefore/(1<<20)))
	}
	if r.limited+r.unavailable+r.failed > 0 {
		found = append(found, fmt.Sprintf("honest requests: got %d 429, %d 503, %d failed, want none", r.limited, r.unavailable, r.failed))
	}
	return found
}

// flood runs one flood beside honest traffic.
func (s *deployment) flood(name string, lasts time.Duration, send sender) floodResult {
	s.tb.Helper()
	api := s.apis[0]
	r := floodResult{name: name, redisBefore: s.redisUsed()}
	ctx, cancel := context.WithTimeout(s.tb.Context(), lasts)
	defer cancel()
	var running sync.WaitGroup
	sent := make([]int, floodConnections)
	if send != nil {
		for n := range sent {
			running.Go(func() {
				client := callerFrom(fmt.Sprintf("127.2.0.%d", n+1))
				defer client.CloseIdleConnections()
				for ; ctx.Err() == nil; sent[n]++ {
					began := time.Now()
					send(ctx, client, api.base)
					wait(ctx, floodPause-time.Since(began))
				}
			})
		}
	}
	honest := newHonestCallers(s.dataset)
	running.Go(func() { honest.run(ctx, api.base) })
	for wait(ctx, time.Second) {
		if bytes, err := api.metric("process_resident_memory_bytes"); err == nil {
			r.nodeMiB = max(r.nodeMiB, bytes/(1<<20))
		}
	}
	running.Wait()
	for _, n := range sent {
		r.sent += n
	}
	honest.sum(&r)
	// Buckets and leases expire.
	for deadline := time.Now().Add(redisRest); ; {
		r.redisAfter = s.redisUsed()
		if r.redisAfter <= r.redisBefore+maxRedisRoom || !time.Now().Before(deadline) {
			return r
		}
		wait(s.tb.Context(), time.Second)
	}
}

// redisUsed is the memory of Redis, which answers.
func (s *deployment) redisUsed() (bytes float64) {
	s.tb.Helper()
	env.Until(s.tb, func() (err error) {
		bytes, err = s.redis.used()
		return err
	})
	return bytes
}
