package api

import (
	"context"
	"testing"
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

// Copies are a node's own copies of answers that do not expire, and what drops them.
type Copies struct {
	*localCopies
	watcher *publicationWatcher
	polled  uint64
}

// NewCopies returns empty copies, for the duration of a test.
func NewCopies(t *testing.T) *Copies {
	t.Helper()
	c := &Copies{localCopies: newLocalCopies(0, time.Hour), watcher: &publicationWatcher{}}
	t.Cleanup(c.close)
	c.watcher.changed, c.watcher.republished = c.drop, func() {}
	return c
}

// Begin is what Set needs to know of the time before an answer is read.
func (c *Copies) Begin() uint64 { return c.begin() }

// Set keeps an answer with some tags.
func (c *Copies) Set(key string, tags []cache.Tag, begun uint64) {
	c.set(key, &rendered{tags: tags}, begun)
}

// Drop drops the answers with one of the tags.
func (c *Copies) Drop(tags ...cache.Tag) { c.drop(tags...) }

// Has reports whether there is a copy.
func (c *Copies) Has(key string) bool {
	_, found := c.get(key)
	return found
}

// Receive handles a notification.
func (c *Copies) Receive(n cache.Notification) { c.watcher.receive(n) }

// Poll compares with what Redis says.
func (c *Copies) Poll(ctx context.Context, store *cache.Store) {
	c.watcher.store = store
	c.polled = c.watcher.poll(ctx, c.polled)
}

// Handler answers requests without a socket.
func (a *API) Handler() fasthttp.RequestHandler { return a.wrapHandler(a.app.Handler()) }

// KeepCopies makes the copies of a node that does not serve yet last.
func (a *API) KeepCopies() {
	a.local.close()
	a.local = newLocalCopies(0, time.Hour)
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
