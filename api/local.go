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

// localTTL is how long a node's own copy of an answer lasts: no answer is further
// behind than that, whatever is published meanwhile.
const localTTL = time.Second

// defaultLocalBytes bounds the copies where Options does not.
const defaultLocalBytes = 8 << 20

// localOverhead is what an entry weighs beside its bytes.
const localOverhead = 512

// rendered is an answer as bytes, but for what differs between two callers.
type rendered struct {
	data []byte
	view cache.View
	// etag names the answer; empty for one caller's alone.
	etag string
	// modified is when the data was worked out, as a header has it.
	modified string
	// control says who may keep it, as a header has it, while nothing shortens its life.
	control string
	// target is the canonical spelling of what was asked, link, as a header has it, that
	// of the page after.
	target, link string
	tags         surrogateKeys
	// status says which layers were asked for it.
	status    string
	page      *Page
	nodeLocal bool
}

// localCopies keeps the rendered answers that are asked for again and again, up to
// a number of bytes. They are dropped when anything newer is published.
type localCopies struct {
	answers *otter.Cache[string, *rendered]
	// drops counts how often everything was forgotten.
	drops atomic.Uint64
}

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

// set keeps a copy of an answer, unless everything was forgotten since it began to be
// worked out: it may be from before.
func (l *localCopies) set(key string, answer rendered, begun uint64) {
	answer.status = nodeHit
	if l.drops.Load() == begun {
		l.answers.Set(key, &answer)
	}
}

// drop forgets everything.
func (l *localCopies) drop() {
	l.drops.Add(1)
	l.answers.InvalidateAll()
}

// close ends what the copies run in the background.
func (l *localCopies) close() {
	l.answers.StopAllGoroutines()
}

// render turns an answer into bytes.
func render(found answer) (*rendered, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found.data); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	head := found.view
	head.Payload = nil
	return &rendered{data: bytes.TrimSuffix(text.Bytes(), []byte("\n")), view: head, page: found.page, nodeLocal: found.nodeLocal}, nil
}
