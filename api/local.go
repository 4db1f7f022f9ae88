package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"pnyx/cache"
)

// localTTL is how long a node keeps its own copy of an answer. It bounds how far an answer
// lags a publication whose notification was lost.
const localTTL = time.Second

// defaultLocalBytes is the size limit when Options has none.
const defaultLocalBytes = 8 << 20

// localOverhead is the estimated memory of an entry without its key and data, in bytes.
const localOverhead = 512

// rendered is an answer ready to be sent. It lacks only what differs between requests for
// it, such as the request id.
type rendered struct {
	// data is the JSON of the member data.
	data []byte
	// view is the view that the data was read from, without its payload.
	view cache.View
	// etag is the ETag of the answer while it is not stale; empty for answers about one
	// token.
	etag string
	// modified is the Last-Modified header.
	modified string
	// control is the default Cache-Control header; see API.setCacheControl.
	control string
	// target is the canonical URL of the request, for Content-Location.
	target string
	// link is the Link header of the next page; empty for none.
	link string
	// keys are the surrogate keys.
	keys surrogateKeys
	// status is the value of the Cache-Status header.
	status string
	// layer is where the data came from.
	layer layer
	// page is set for lists.
	page *Page
	// nodeLocal says that no publication changes the answer.
	nodeLocal bool
}

// localCopies keeps rendered answers that are requested repeatedly, up to a number of
// bytes. They are dropped whenever something newer is published. It is safe for
// concurrent use.
type localCopies struct {
	answers *otter.Cache[string, *rendered]
	// drops counts how often all copies were dropped.
	drops atomic.Uint64
}

// newLocalCopies returns copies of at most maxBytes; zero for defaultLocalBytes.
func newLocalCopies(maxBytes uint64) *localCopies {
	return &localCopies{
		answers: otter.Must(&otter.Options[string, *rendered]{
			MaximumWeight: cmp.Or(maxBytes, defaultLocalBytes),
			Weigher: func(key string, answer *rendered) uint32 {
				return uint32(len(key) + len(answer.data) + localOverhead) //nolint:gosec // bounded by the longest page
			},
			ExpiryCalculator: otter.ExpiryWriting[string, *rendered](localTTL),
		}),
	}
}

// get returns the copy of an answer, if there is one.
func (l *localCopies) get(key string) (*rendered, bool) {
	return l.answers.GetIfPresent(key)
}

// set stores a copy of an answer, unless drops has changed from begun, its value before
// the answer was read: the answer may then be older than the latest publication.
func (l *localCopies) set(key string, answer rendered, begun uint64) {
	answer.status = nodeHit
	if l.drops.Load() == begun {
		l.answers.Set(key, &answer)
	}
}

// drop drops all copies.
func (l *localCopies) drop() {
	l.drops.Add(1)
	l.answers.InvalidateAll()
}

// close stops the goroutines of the copies.
func (l *localCopies) close() {
	l.answers.StopAllGoroutines()
}

// render encodes the data of an answer.
func render(found answer) (*rendered, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found.data); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	view := found.view
	view.Payload = nil
	r := &rendered{
		data: bytes.TrimSuffix(text.Bytes(), []byte("\n")), view: view, page: found.page,
		layer: found.source.layer(), nodeLocal: found.nodeLocal,
	}
	if found.nodeLocal {
		r.layer = layerLocal
	}
	return r, nil
}
