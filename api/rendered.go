package api

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
)

// localOverhead is the estimated memory of an entry without its key and data, in bytes.
const localOverhead = 2 << 10

// rendered is an answer ready to be sent, without what differs between requests, such as the request id.
type rendered struct {
	// Answer is what the route answered, without Data and the payload of View.
	routes.Answer

	data []byte
	// etag is the ETag while the answer is not stale; empty for answers about one token.
	etag string
	// modified is the Last-Modified header; empty for an answer that no publication changes.
	modified string
	// control is the default Cache-Control, for lifetime in shared caches.
	control  string
	lifetime time.Duration
	// target is the canonical URL of the request, for Content-Location.
	target string
	// link is the Link header of the next page; empty for none.
	link string
	// keys are the surrogate keys of tags; empty where no cache is purged.
	keys   httpcache.SurrogateKeys
	tags   []cache.Tag
	status string
	layer  httpcache.Layer
	// head holds the headers of writeHead, metaTail DataMeta.append for the readiness of View; of local copies
	// only.
	head     *fasthttp.ResponseHeader
	metaTail []byte
	// bodyBytes is the length of a body with a new id, and packed the compressed answer; of local copies only.
	bodyBytes int
	packed    func() (*httpcache.Packed, error)
}

func render(found routes.Answer) (*rendered, error) {
	if found.File != nil {
		return &rendered{Answer: routes.Answer{File: found.File}, layer: found.Source.Layer()}, nil
	}
	data, err := governance.JSON(found.Data)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	r := &rendered{Answer: found, data: data, layer: found.Source.Layer()}
	r.Data, r.View.Payload = nil, nil
	if found.NodeLocal {
		r.layer = httpcache.LayerLocal
	}
	return r, nil
}

// prepare makes what only copies have, of an answer that is complete.
func (r *rendered) prepare(route *routes.Route) {
	r.head = new(fasthttp.ResponseHeader)
	r.writeHead(r.head, route)
	r.metaTail = r.meta(r.View.Readiness).append(nil)
	like := requestState{id: rand.Text(), now: time.Unix(0, 0), readiness: r.View.Readiness}
	r.bodyBytes = len(envelopeStart) + len(r.data) + len(r.appendTail(nil, &like))
	data, metaTail := r.data, r.metaTail
	r.packed = sync.OnceValues(func() (*httpcache.Packed, error) {
		return httpcache.Pack(slices.Concat([]byte(envelopeStart), data, []byte(metaStart)), slices.Concat(metaTail, []byte(envelopeEnd)))
	})
}

// weight is the estimated memory of a copy, in bytes.
func (r *rendered) weight(key string) uint32 {
	return uint32(len(key) + len(r.data) + len(r.data)/2 + localOverhead) //nolint:gosec // bounded by the longest page
}

// isOutdated reports whether a publication that changed some tags may have changed the answer. Publications do not
// name voters: each outdates all answers about one.
func (r *rendered) isOutdated(changed func(cache.Tag) bool) bool {
	return len(r.tags) == 0 || slices.ContainsFunc(r.tags, func(tag cache.Tag) bool { return !tag.IsNamed() || changed(tag) })
}

// etagOf returns the ETag of an answer: its revision and the canonical request. It is weak, since the id and time
// of the request in the body differ. Answers are identified by their content if they have no revision, as
// node-local ones and, after a flush of Redis, pages of what is not published yet, or if they change within one
// (Dated, ByContent).
func etagOf(r *routes.Request, found *rendered) string {
	revision := found.View.Revision
	if found.NodeLocal || found.Dated || found.ByContent || revision == 0 {
		content := xxhash.New()
		_, _ = content.Write(found.data) // it never fails
		if found.Page != nil && found.Page.NextCursor != nil {
			_, _ = content.WriteString(*found.Page.NextCursor)
		}
		if found.Dated || found.ByContent {
			_, _ = content.WriteString(strconv.FormatUint(revision, 36))
		}
		revision = content.Sum64()
	}
	requested := xxhash.Sum64String(SurfaceVersion + "\x00" + r.Canonical())
	return `W/"` + strconv.FormatUint(revision, 36) + "-" + strconv.FormatUint(requested, 36) + `"`
}

// etagFor returns the ETag for a readiness. A stale answer has another ETag, so that a caller that has it does not
// get a 304 once the answer is ready.
func (r *rendered) etagFor(readiness governance.Readiness) string {
	if r.etag == "" || readiness != governance.Stale {
		return r.etag
	}
	return strings.TrimSuffix(r.etag, `"`) + `-stale"`
}
