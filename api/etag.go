package api

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"

	"pnyx/governance"
)

// etagOf returns the ETag of an answer: its revision and the canonical request. It is
// weak, since the id and time of the request in the body differ. A node-local answer has
// no revision, nor has a page of what is not published yet, as after a flush of Redis, and time
// changes a dated one within a revision: these are identified by their content.
func etagOf(r *request, found *rendered) string {
	revision := found.view.Revision
	if found.nodeLocal || found.dated || revision == 0 {
		content := xxhash.New()
		_, _ = content.Write(found.data) // it never fails
		if found.page != nil && found.page.NextCursor != nil {
			_, _ = content.WriteString(*found.page.NextCursor)
		}
		if found.dated {
			_, _ = content.WriteString(strconv.FormatUint(revision, 36))
		}
		revision = content.Sum64()
	}
	requested := xxhash.Sum64String(SurfaceVersion + "\x00" + r.canonical())
	return `W/"` + strconv.FormatUint(revision, 36) + "-" + strconv.FormatUint(requested, 36) + `"`
}

// etagFor returns the ETag for a readiness. A stale answer has another ETag, so that a
// caller that has it does not get a 304 once the answer is ready.
func (r *rendered) etagFor(readiness governance.Readiness) string {
	if r.etag == "" || readiness != governance.Stale {
		return r.etag
	}
	return strings.TrimSuffix(r.etag, `"`) + `-stale"`
}

// etagMatches reports whether If-None-Match names the answer. If-Modified-Since is
// ignored: two revisions may share a second.
func etagMatches(c *fiber.Ctx, etag string) bool {
	if etag == "" {
		return false
	}
	header := c.Get(fiber.HeaderIfNoneMatch)
	if header == "" {
		return false
	}
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
