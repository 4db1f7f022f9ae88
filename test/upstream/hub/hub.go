// Package hub is a Snapshot hub to test against: its GraphQL, its limits, its log of
// messages, and what it changes in place. It goes by a clock of its own and knows the
// truth that a follower has to arrive at.
package hub

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"pnyx/clock"
	"pnyx/test/check"
)

const (
	// maxFirst, maxSkip, maxIn, maxSpaces, maxRoots and maxDepth are the hub's limits.
	maxFirst, maxSkip, maxIn, maxSpaces, maxRoots, maxDepth = 1000, 5000, 100, 10_000, 5, 5
	// maxRequestBytes bounds a request.
	maxRequestBytes = 1 << 20
	// window is the time over which requests are limited.
	window = time.Minute
)

// Switches change how the hub behaves. The zero value is a hub in good order that limits nobody.
type Switches struct {
	// Limit is the requests that each address may send in a minute without a key; 0 for any number.
	Limit int
	// Keys are the known API keys with their limits. Another key is refused with 401.
	Keys map[string]int
	// Trouble is the number of next requests that fail, alternately as HTTP 500 and as HTTP 200.
	Trouble int
	// Down makes each request fail with HTTP 502 and a page of HTML.
	Down bool
	// Empty answers every list without rows, as a replica that has lost its data does.
	Empty bool
	// NoSpaceVotes refuses lists of votes that are filtered by space.
	NoSpaceVotes bool
	// LogDelay is the time from an action until its row shows in the log.
	LogDelay time.Duration
	// Burn is the number of log numbers that are lost before each message.
	Burn int64
	// LateRescoring is the votes above which scores are stated at most every 300 seconds; 0 for 20,000.
	LateRescoring int
}

// Hub is a Snapshot hub. It is an http.Handler and safe for concurrent use.
type Hub struct {
	clock *clock.Clock

	mu        check.Mutex
	switches  Switches
	spaces    map[string]*space
	proposals map[string]*proposal
	// names are the names of profiles, by voter.
	names    map[string]string
	log      []message
	mci      int64
	made     int
	seen     map[string][]time.Time
	requests map[string]int
	troubles int
}

// New returns an empty hub. A nil clock is the system's.
func New(c *clock.Clock) *Hub {
	return &Hub{
		clock: c, spaces: map[string]*space{}, proposals: map[string]*proposal{}, names: map[string]string{}, mci: 1000,
		seen: map[string][]time.Time{}, requests: map[string]int{},
	}
}

// Set changes the switches.
func (h *Hub) Set(change func(*Switches)) { h.mu.Do(func() { change(&h.switches) }) }

// Requests returns how often each root field was asked for, and the number of requests under "".
func (h *Hub) Requests() map[string]int {
	return check.Locked(&h.mu, func() map[string]int { return maps.Clone(h.requests) })
}

// ServeHTTP implements http.Handler.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests[""]++
	switch {
	case h.switches.Down:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html><h1>502 Bad Gateway</h1></html>")
	case r.Method != http.MethodPost || r.URL.Path != "/graphql":
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	case h.admit(w, r):
		status, answer := h.answer(body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// admit counts a request and refuses it above the limit.
func (h *Hub) admit(w http.ResponseWriter, r *http.Request) bool {
	caller, limit, names := "", h.switches.Limit, [...]string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
	if key := r.Header.Get("X-Api-Key"); key != "" {
		var known bool
		if limit, known = h.switches.Keys[key]; !known {
			return refuse(w, http.StatusUnauthorized, "invalid or missing API key")
		}
		caller, names = key, [...]string{"X-Api-Key-Limit", "X-Api-Key-Remaining", "X-Api-Key-Reset"}
	}
	if limit == 0 {
		return true
	}
	now := h.clock.Now()
	recent := h.seen[caller]
	for len(recent) > 0 && now.Sub(recent[0]) >= window {
		recent = recent[1:]
	}
	allowed := len(recent) < limit
	if allowed {
		recent = append(recent, now)
	}
	h.seen[caller] = recent
	reset := strconv.Itoa(int((recent[0].Add(window).Sub(now) + time.Second - 1) / time.Second))
	w.Header().Set(names[0], strconv.Itoa(limit))
	w.Header().Set(names[1], strconv.Itoa(limit-len(recent)))
	w.Header().Set(names[2], reset)
	if !allowed {
		w.Header().Set("Retry-After", reset)
		return refuse(w, http.StatusTooManyRequests,
			"too many requests, refer to https://docs.snapshot.box/tools/api/api-keys#limits")
	}
	return true
}

// refuse answers in the form of the gateway before the hub, which is not GraphQL.
func refuse(w http.ResponseWriter, status int, description string) bool {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "unauthorized", "error_description": description})
	return false
}

// gqlError is an error with the status of its answer.
type gqlError struct {
	status  int
	Message string `json:"message"`
	Path    []any  `json:"path,omitempty"`
}

// Error implements error.
func (e *gqlError) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &gqlError{status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// answer executes a request.
func (h *Hub) answer(body []byte) (status int, answer any) {
	data, err := h.execute(body)
	if err == nil {
		return http.StatusOK, map[string]any{"data": data}
	}
	failed := &gqlError{status: http.StatusInternalServerError, Message: err.Error()}
	errors.As(err, &failed)
	return cmp.Or(failed.status, http.StatusInternalServerError), map[string]any{"errors": []any{failed}, "data": nil}
}

func (h *Hub) execute(body []byte) (map[string]any, error) {
	var request struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, invalid("POST body is invalid: batches are not supported")
	}
	roots, err := parse(request.Query, request.Variables)
	if err != nil {
		return nil, err
	}
	if len(roots) > maxRoots {
		return nil, fmt.Errorf("the query exceeds the maximum number of root selections: %d", maxRoots)
	}
	if h.switches.Trouble > 0 {
		h.switches.Trouble--
		h.troubles++
		status := []int{http.StatusInternalServerError, http.StatusOK}[h.troubles%2]
		return nil, &gqlError{status: status, Message: "request failed", Path: []any{roots[0].name}}
	}
	data := map[string]any{}
	for _, root := range roots {
		h.requests[root.name]++
		value, err := h.resolve(root)
		if err != nil {
			return nil, err
		}
		data[cmp.Or(root.alias, root.name)] = value
	}
	return data, nil
}
