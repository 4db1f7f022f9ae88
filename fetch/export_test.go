package fetch

import (
	"net/http"
	"time"
)

// Impatient lets every attempt end after a moment.
func (c *Client) Impatient(limit time.Duration) {
	c.http = newHTTPClient(limit, limit, limit)
}

// Pauses returns what the headers Retry-After and RateLimit-Reset mean.
func Pauses(header http.Header, now time.Time) (after, reset time.Duration) {
	after, _ = RetryAfter(header, now, maxLimited)
	return after, resetIn(header.Get("RateLimit-Reset"), now)
}

// LargeAnswers returns how many large answers of the host are being read.
func (h *Host) LargeAnswers() int { return len(h.gate.large) }
