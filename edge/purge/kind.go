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

// Kind is the purge protocol of a cache.
type Kind string

// The kinds of caches.
const (
	// Fastly takes POST with the tags in Surrogate-Key, and marks responses as stale, as other caches do, too.
	Fastly Kind = "fastly"
	// Cloudflare takes POST with the tags in JSON.
	Cloudflare Kind = "cloudflare"
	// Varnish takes PURGE with the tags in xkey, for its xkey module. Its own configuration chooses soft or hard
	// purges.
	Varnish Kind = "varnish"
)

// Limits of one request. Varnish reads headers of 8 KB at most.
const (
	// maxFastlyTags is the number of keys that Fastly accepts in one request.
	maxFastlyTags = 256
	// maxTags is the number of tags for the other caches.
	maxTags = 100
	// maxTagBytes bounds the tags of a request, separators included.
	maxTagBytes = 6 << 10
)

const maxResponseBytes = 64 << 10

// batches splits tags, in their order, into what one request may contain by number and by length.
func (k Kind) batches(tags []string) [][]string {
	limit := maxTags
	if k == Fastly {
		limit = maxFastlyTags
	}
	var all [][]string
	size := 0
	for _, tag := range tags {
		last := len(all) - 1
		if last < 0 || len(all[last]) == limit || size+len(tag) >= maxTagBytes {
			all, size, last = append(all, nil), 0, last+1
		}
		all[last] = append(all[last], tag)
		size += len(tag) + 1
	}
	return all
}

// request returns the request that purges responses with any tag. An empty token is not sent. Errors have no URL.
func (k Kind) request(ctx context.Context, address, token string, tags []string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return nil, withoutURL(err)
	}
	switch k {
	case Fastly:
		request.Header.Set("Surrogate-Key", strings.Join(tags, " "))
		request.Header.Set("Fastly-Soft-Purge", "1")
		if token != "" {
			request.Header.Set("Fastly-Key", token)
		}
	case Cloudflare:
		text, _ := json.Marshal(map[string][]string{"tags": tags}) // texts have JSON
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		request.Header.Set("Content-Type", "application/json")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
	case Varnish:
		request.Method = "PURGE"
		request.Header.Set("Xkey", strings.Join(tags, " "))
	}
	return request, nil
}

// busyError is a 429 of a cache. retryAfter is the delay that it asks for; 0 for none in seconds.
type busyError struct{ retryAfter time.Duration }

// Error implements error.
func (e *busyError) Error() string { return "the cache limits the rate of purges" }

// errRejected is a response other than success.
var errRejected = errors.New("the cache rejected the purge")

// checkResponse returns an error unless the purge succeeded, without the body, which may show the token.
func (k Kind) checkResponse(response *http.Response) error {
	if response.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // dates are not supported
		return &busyError{retryAfter: time.Duration(max(seconds, 0)) * time.Second}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%w: status %d", errRejected, response.StatusCode)
	}
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if k != Cloudflare {
		return nil
	}
	var result struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(body, &result); err != nil || !result.Success {
		return fmt.Errorf("%w: no success", errRejected)
	}
	return nil
}

// outcome returns the metric label of a request.
func outcome(err error) string {
	if _, busy := errors.AsType[*busyError](err); busy {
		return "busy"
	}
	if err != nil {
		return "failed"
	}
	return "done"
}

// withoutURL removes the URL from an error, because it may contain a password.
func withoutURL(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		return wrapped.Err
	}
	return err
}
