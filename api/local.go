package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/valyala/fasthttp"

	"pnyx/cache"
)

// localTTL is how long a node keeps its own copy of an answer. It bounds how far an answer
// lags a publication whose notification was lost.
const localTTL = time.Second

// maxDroppedTags bounds what is remembered of tags that were dropped.
const maxDroppedTags = 20_000

// defaultLocalBytes is the size limit when Options has none.
const defaultLocalBytes = 8 << 20

// localOverhead is the estimated memory of an entry without its key and data, in bytes.
const localOverhead = 2 << 10

// rendered is an answer ready to be sent. It lacks only what differs between requests for
// it, such as the request id.
type rendered struct {
	// data is the JSON of the member data.
	data []byte
	// file is sent instead of an envelope with data; nil for none.
	file *file
	// view is the view that the data was read from, without its payload.
	view cache.View
	// etag is the ETag of the answer while it is not stale; empty for answers about one
	// token.
	etag string
	// modified is the Last-Modified header; empty for an answer that no publication changes.
	modified string
	// control is the default Cache-Control header, for lifetime in shared caches; see
	// API.setCacheControl.
	control  string
	lifetime time.Duration
	// target is the canonical URL of the request, for Content-Location.
	target string
	// link is the Link header of the next page; empty for none.
	link string
	// keys are the surrogate keys, empty where no cache is purged, and tags what they are
	// made from.
	keys surrogateKeys
	tags []cache.Tag
	// status is the value of the Cache-Status header.
	status string
	// layer is where the data came from.
	layer layer
	// page is set for lists, and hint is Meta.Hint.
	page *Page
	hint string
	// nodeLocal says that no publication changes the answer. dated, live and empty are as in
	// answer.
	nodeLocal, dated, live, empty bool
	// head holds the headers of writeHead, and metaTail the text of Meta.appendData for the
	// readiness of view. Only local copies have them.
	head     *fasthttp.ResponseHeader
	metaTail []byte
	// bodyBytes is the length of a body with an id that the node made, and packed returns the
	// compressed answer. Only local copies have them.
	bodyBytes int
	packed    func() (*packed, error)
}

// localCopies keeps rendered answers that are requested repeatedly, up to a number of
// bytes. A publication drops those with a tag of what it changed. It is safe for
// concurrent use.
type localCopies struct {
	answers *otter.Cache[string, *rendered]

	// mu orders set and drop: a drop finds the copy, or set finds the drop.
	mu sync.Mutex
	// drops counts the drops. allDropped is the last one of everything, and dropped the
	// last ones of single tags since.
	drops, allDropped uint64
	dropped           map[cache.Tag]uint64
}

// newLocalCopies returns copies of at most maxBytes, zero for defaultLocalBytes, that
// expire after a time.
func newLocalCopies(maxBytes uint64, ttl time.Duration) *localCopies {
	return &localCopies{
		answers: otter.Must(&otter.Options[string, *rendered]{
			MaximumWeight:    cmp.Or(maxBytes, defaultLocalBytes),
			Weigher:          func(key string, answer *rendered) uint32 { return answer.weight(key) },
			ExpiryCalculator: otter.ExpiryWriting[string, *rendered](ttl),
		}),
		dropped: map[cache.Tag]uint64{},
	}
}

// get returns the copy of an answer, if there is one.
func (l *localCopies) get(key string) (*rendered, bool) {
	return l.answers.GetIfPresent(key)
}

// begin returns what set needs to know of the time before an answer is read.
func (l *localCopies) begin() (drops uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.drops
}

// set stores a prepared copy of an answer, unless one like it was dropped since begun, when it
// was not read yet: it may be older than the latest publication.
func (l *localCopies) set(key string, answer *rendered, begun uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := func(tag cache.Tag) bool { return l.dropped[tag] > begun }
	if l.drops == begun || l.allDropped <= begun && !answer.isOutdated(since) {
		l.answers.Set(key, answer)
	}
}

// prepare makes what only copies have, of an answer that is complete.
func (r *rendered) prepare(route *Route) {
	r.head = new(fasthttp.ResponseHeader)
	r.writeHead(r.head, route)
	r.metaTail = r.meta(r.view.Readiness).appendData(nil)
	like := requestState{id: strings.Repeat("A", requestIDBytes), now: time.Unix(0, 0), readiness: r.view.Readiness}
	r.bodyBytes = len(envelopeStart) + len(r.data) + len(r.appendTail(nil, &like))
	data, metaTail := r.data, r.metaTail
	r.packed = sync.OnceValues(func() (*packed, error) {
		return newPacked(slices.Concat([]byte(envelopeStart), data, []byte(metaStart)), slices.Concat(metaTail, []byte(envelopeEnd)))
	})
}

// weight is the estimated memory of a copy, in bytes.
func (r *rendered) weight(key string) uint32 {
	return uint32(len(key) + len(r.data) + len(r.data)/2 + localOverhead) //nolint:gosec // bounded by the longest page
}

// drop drops the copies of answers with one of the tags.
func (l *localCopies) drop(tags ...cache.Tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drops++
	if len(l.dropped)+len(tags) > maxDroppedTags {
		l.allDropped = l.drops // of what is being read; the copies are up to date
		clear(l.dropped)
	}
	for _, tag := range tags {
		l.dropped[tag] = l.drops
	}
	if slices.Contains(tags, cache.EverythingTag) {
		l.allDropped = l.drops
		clear(l.dropped)
		l.answers.InvalidateAll()
		return
	}
	now := func(tag cache.Tag) bool { return l.dropped[tag] == l.drops }
	for key, answer := range l.answers.All() {
		if answer.isOutdated(now) {
			l.answers.Invalidate(key)
		}
	}
}

// isOutdated reports whether a publication that has changed some tags may have changed the
// answer. Publications do not name voters: each outdates all answers about one.
func (r *rendered) isOutdated(changed func(cache.Tag) bool) bool {
	return len(r.tags) == 0 || slices.ContainsFunc(r.tags, func(tag cache.Tag) bool { return !tag.IsNamed() || changed(tag) })
}

// close stops the goroutines of the copies.
func (l *localCopies) close() {
	l.answers.StopAllGoroutines()
}

// render encodes the data of an answer.
func render(found answer) (*rendered, error) {
	if found.file != nil {
		return &rendered{file: found.file, layer: found.source.layer()}, nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found.data); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	view := found.view
	view.Payload = nil
	r := &rendered{
		data: bytes.TrimSuffix(text.Bytes(), []byte("\n")), view: view, page: found.page, hint: found.hint,
		layer: found.source.layer(), nodeLocal: found.nodeLocal, dated: found.dated, live: found.live, empty: found.empty,
	}
	if found.nodeLocal {
		r.layer = layerLocal
	}
	return r, nil
}
