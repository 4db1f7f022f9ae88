package purge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Kind is how a cache is spoken to.
type Kind string

// The kinds of caches.
const (
	// Fastly takes POST with the tags in Surrogate-Key, and marks what has them as
	// stale. So may anything else that is told by such a request.
	Fastly Kind = "fastly"
	// Cloudflare takes POST with the tags in JSON.
	Cloudflare Kind = "cloudflare"
	// Varnish takes PURGE with the tags in xkey, as the documentation of its xkey
	// module has it: whether softly is said in its own configuration.
	Varnish Kind = "varnish"
)

// Bounds of one request. Headers of 8 KB are the most that Varnish reads.
const (
	mostAtFastly  = 256
	mostElsewhere = 100
	mostBytes     = 6 << 10
)

// longestVerdict bounds what is read of an answer.
const longestVerdict = 64 << 10

// portions cuts tags into what one request may hold.
func (k Kind) portions(tags []string) [][]string {
	most := mostElsewhere
	if k == Fastly {
		most = mostAtFastly
	}
	var all [][]string
	size := 0
	for _, tag := range tags {
		last := len(all) - 1
		if last < 0 || len(all[last]) == most || size+len(tag) >= mostBytes {
			all, size, last = append(all, nil), 0, last+1
		}
		all[last] = append(all[last], tag)
		size += len(tag) + 1
	}
	return all
}

// request asks a cache to forget what has any of the tags.
func (k Kind) request(ctx context.Context, address, token string, tags []string) (*http.Request, error) {
	method, body := http.MethodPost, io.Reader(http.NoBody)
	switch k {
	case Varnish:
		method = "PURGE"
	case Cloudflare:
		text, err := json.Marshal(map[string][]string{"tags": tags})
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	case Fastly:
	}
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, withoutURL(err)
	}
	joined := strings.Join(tags, " ")
	switch k {
	case Fastly:
		request.Header.Set("Surrogate-Key", joined)
		request.Header.Set("Fastly-Soft-Purge", "1")
		if token != "" {
			request.Header.Set("Fastly-Key", token)
		}
	case Cloudflare:
		request.Header.Set("Content-Type", "application/json")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
	case Varnish:
		request.Header.Set("Xkey", joined)
	}
	return request, nil
}

// busyError is a cache that wants to be left alone for a while.
type busyError struct{ retryAfter time.Duration }

// Error says so.
func (e *busyError) Error() string { return "it wants to be asked less often" }

// errRefused is a cache that answers, but does not purge.
var errRefused = errors.New("the cache refused")

// verdict reads whether a purge was done. What else is in an answer stays unread: it
// may show the token.
func (k Kind) verdict(response *http.Response) error {
	if response.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date is as good as nothing
		return &busyError{retryAfter: time.Duration(max(seconds, 0)) * time.Second}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, longestVerdict))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%w: status %d", errRefused, response.StatusCode)
	}
	if err != nil {
		return fmt.Errorf("read what the cache said: %w", err)
	}
	if k != Cloudflare {
		return nil
	}
	var said struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(body, &said); err != nil || !said.Success {
		return fmt.Errorf("%w: no success", errRefused)
	}
	return nil
}

// outcome is the label of a request in the metrics.
func outcome(err error) string {
	if _, busy := errors.AsType[*busyError](err); busy {
		return "busy"
	}
	if err != nil {
		return "failed"
	}
	return "done"
}

// withoutURL takes the address out of an error: it may hold a password.
func withoutURL(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		return wrapped.Err
	}
	return err
}
