// Package fetch asks upstream systems over HTTP, no faster than they allow.
//
// A [Client] has one [Host] for each upstream host. A Host spaces out its requests, obeys
// Retry-After and rate limit headers, retries what may pass, and stops asking for a while
// after repeated failures. Answers are bounded in size. Redirects to private addresses are
// refused. Errors name the host and never contain keys.
package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/clock"
)

const (
	maxBodyBytes = 32 << 20
	// freeBodyBytes is the size up to which answers are read whenever they come. Of larger ones, a process reads
	// maxLarge at a time, and one of each host.
	freeBodyBytes = 1 << 20
	maxLarge      = 8
)

// ErrTooLarge reports an answer above maxBodyBytes.
var ErrTooLarge = errors.New("answer is larger than 32 MiB")

// StatusError is an answer with a status that is an error, or that states trouble whatever its status.
type StatusError struct {
	Host   string
	Status int
	// Said is the trouble that the answer states; empty where it states none.
	Said string
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Said != "" {
		return fmt.Sprintf("%s answered with status %d: %s", e.Host, e.Status, e.Said)
	}
	return fmt.Sprintf("%s answered with status %d", e.Host, e.Status)
}

// LimitedError reports that a host asks for no more requests before a time.
type LimitedError struct {
	Host string
	// Until is the time at which it may be asked again.
	Until time.Time
	// Said is what it said; empty where its status says enough.
	Said string
}

// Error implements error.
func (e *LimitedError) Error() string {
	text := fmt.Sprintf("%s allows no more requests until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text
}

// UnavailableError reports that a host is not asked for a while, because it failed several times in a row.
type UnavailableError struct {
	Host string
	// Until is the time at which it is asked again.
	Until time.Time
	Last  error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s fails and is asked again at %s: %v", e.Host, e.Until.UTC().Format(time.RFC3339), e.Last)
}

// Unwrap returns the last failure.
func (e *UnavailableError) Unwrap() error { return e.Last }

// Options configure a Client.
type Options struct {
	// UserAgent names the caller, with a contact.
	UserAgent string
	// Clock is nil for the system's.
	Clock *clock.Clock
	// Transport answers in place of the network in simulations; nil for the network.
	Transport http.RoundTripper
	// Logger receives a line when a host limits or fails.
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Client asks upstream hosts. It is safe for concurrent use.
type Client struct {
	Options

	http    *http.Client
	metrics metrics
	// large are the places for answers above freeBodyBytes.
	large chan struct{}

	mu    sync.Mutex
	gates map[string]*gate // by host
}

// New returns a Client.
func New(o Options) *Client {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	client := newHTTPClient(5*time.Second, 30*time.Second, time.Minute)
	if o.Transport != nil {
		client.Transport = o.Transport
	}
	return &Client{
		Options: o, http: client, metrics: newMetrics(o.Metrics), gates: map[string]*gate{}, large: make(chan struct{}, maxLarge),
	}
}

// Pace is how often a host may be asked as long as it states no limit itself.
type Pace struct {
	// Requests is the number of requests in each Per, and Burst how many of them may be sent at once.
	Requests, Burst int
	// Per is above 0.
	Per time.Duration
}

// Host returns the host of an address. Callers of one host share its pace, which is the pace of the last call.
func (c *Client) Host(base *url.URL, p Pace) *Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	shared := c.gates[base.Host]
	if shared == nil {
		shared = &gate{client: c, host: base.Host, large: make(chan struct{}, 1)}
		c.gates[base.Host] = shared
	}
	shared.setPace(p)
	return &Host{client: c, base: base, gate: shared}
}

// Allowance is what a host has said about its limit.
type Allowance struct {
	Host string
	// Limit and Remaining are the requests of the present window, and how many are left.
	Limit, Remaining int64
	// ResetAt is the end of the window.
	ResetAt time.Time
}

// Allowances returns the last word of every host that states a limit, in order of hosts.
func (c *Client) Allowances() (all []Allowance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, host := range slices.Sorted(maps.Keys(c.gates)) {
		if stated, known := c.gates[host].allowance(); known {
			all = append(all, stated)
		}
	}
	return all
}
