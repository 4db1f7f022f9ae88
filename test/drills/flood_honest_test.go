package drills

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// honestCallers ask at a steady rate, half with a token, from addresses of their own, below every limit.
type honestCallers struct {
	dataset *dataset
	clients []*http.Client

	mu   sync.Mutex
	took []time.Duration
	// status counts the answers, those with other data than they should have as 0.
	status map[int]int
}

func newHonestCallers(w *dataset) *honestCallers {
	h := &honestCallers{dataset: w, status: map[int]int{}}
	for n := range honestAddresses {
		h.clients = append(h.clients, callerFrom(fmt.Sprintf("127.1.0.%d", n+1)))
	}
	return h
}

// run asks until ctx ends, whether or not earlier requests are answered.
func (h *honestCallers) run(ctx context.Context, base string) {
	ticker := time.NewTicker(time.Second / honestRate)
	defer ticker.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		questions, headers := h.dataset.free, map[string]string(nil)
		if n%2 == 1 {
			questions, headers = h.dataset.paid, h.dataset.headers()
		}
		asking.Go(func() { h.ask(h.clients[n%len(h.clients)], base, questions[n/2%len(questions)], headers) })
	}
}

// ask sends one question. It is not bound to the end of the flood: each gets its answer.
func (h *honestCallers) ask(client *http.Client, base string, q question, headers map[string]string) {
	began := time.Now()
	status := q.statusFor(client, base, headers)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, time.Since(began))
	h.status[status]++
}

// statusFor returns the status of the answer, and 0 for none, or for one with other data.
func (q question) statusFor(client *http.Client, base string, headers map[string]string) int {
	request, err := http.NewRequest(http.MethodGet, base+q.path, http.NoBody)
	if err != nil {
		return 0
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	var r reply
	if json.NewDecoder(response.Body).Decode(&r) != nil || response.StatusCode == http.StatusOK && q.check(&r) != nil {
		return 0
	}
	return response.StatusCode
}

func (h *honestCallers) sum(r *floodResult) {
	for _, client := range h.clients {
		client.CloseIdleConnections()
	}
	slices.Sort(h.took)
	r.honest = len(h.took)
	if r.honest > 0 {
		r.p50, r.p99 = h.took[r.honest/2], h.took[r.honest*99/100]
	}
	r.limited, r.unavailable = h.status[http.StatusTooManyRequests], h.status[http.StatusServiceUnavailable]
	r.failed = r.honest - h.status[http.StatusOK] - r.limited - r.unavailable
}

func floodReport(lasts time.Duration, rows []floodResult) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<!-- Written by make flood: change the program, not this file. -->
# Floods

What honest callers notice while somebody floods an API node. Each flood has %d connections, each from an address of its own,
and sends up to %d requests a second on each, for %s. Honest callers send %d requests a second from %d addresses, half with a token;
every answer is compared with an undisturbed run. Node, worker, engine, Redis, flood and honest callers share one
machine: %d cores, %s.

Bounds: p99 at most %d ms, memory of the node at most %d MiB, Redis as before (within 1 MiB, after at most %s), no honest 429, 503 or failure.

| flood | sent | honest requests | p50 | p99 | 429 | 503 | failed | node | Redis before | Redis after |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, floodConnections, time.Second/floodPause, lasts, honestRate, honestAddresses, runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly),
		maxHonestP99.Milliseconds(), maxNodeMiB, redisRest)
	for _, r := range rows {
		fmt.Fprintf(&out, "| %s | %d | %d | %.1f ms | %.1f ms | %d | %d | %d | %.0f MiB | %.2f MiB | %.2f MiB |\n",
			r.name, r.sent, r.honest, r.p50.Seconds()*1e3, r.p99.Seconds()*1e3, r.limited, r.unavailable, r.failed,
			r.nodeMiB, r.redisBefore/(1<<20), r.redisAfter/(1<<20))
	}
	return out.String()
}
