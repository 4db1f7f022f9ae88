package api

import (
	"time"

	"github.com/valyala/fasthttp"

	"pnyx/cache"
)

// SetClock replaces the clock of a node that does not serve yet.
func (a *API) SetClock(now func() time.Time) { a.now = now }

// SetReadTimeout replaces the bound on reading a request of a node that does not serve yet.
func (a *API) SetReadTimeout(d time.Duration) { a.app.Server().ReadTimeout = d }

// SetStreamTimes replaces the bounds of streams of a node that does not serve yet: how long one
// lasts, is quiet, and waits for a slow reader.
func (a *API) SetStreamTimes(life, quiet, write time.Duration) {
	a.streamTimes = streamTimes{life, quiet, write}
}

// SetMaxWaiting replaces the bound on requests that wait.
func (a *API) SetMaxWaiting(most int64) { a.changes.maxWaiting = most }

// FollowsChanges reports whether the node reads the end of the stream of changes.
func (a *API) FollowsChanges() bool {
	a.changes.mu.Lock()
	defer a.changes.mu.Unlock()
	return a.changes.following
}

// Watched says whether the node knows the state of publication.
func (a *API) Watched() bool { return a.publication.latest.Load() != nil }

// ForgetCopies drops the node's own copies of answers, as a newer publication does.
func (a *API) ForgetCopies() { a.local.drop(cache.EverythingTag) }

// Handler answers requests without a socket.
func (a *API) Handler() fasthttp.RequestHandler { return a.wrapHandler(a.app.Handler()) }

// KeepCopies makes the copies of a node that does not serve yet last.
func (a *API) KeepCopies() {
	a.local.close()
	a.local = newLocalCopies(defaultLocalBytes, time.Hour)
}

// ParseRange reads a Range header; part is false for the whole file.
func ParseRange(header string, size int) (first, last int, part bool, err error) {
	selected, err := parseRange(header, size)
	if selected == nil {
		return 0, 0, false, err
	}
	return selected.first, selected.last, true, err
}

// SetExamplesTimeout bounds the search for examples.
func (a *API) SetExamplesTimeout(timeout time.Duration) { a.examples.timeout = timeout }
