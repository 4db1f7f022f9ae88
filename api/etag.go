package api

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"

	"pnyx/governance"
)

// etagOf names an answer by what it was worked out at and what was asked, in any
// spelling. It cannot be made from the body, where the request's id and time are;
// hence it is weak. What the node knows by itself has no revision but its content.
func etagOf(values Values, found *rendered) string {
	revision := found.view.Revision
	if found.nodeLocal {
		revision = xxhash.Sum64(found.data)
	}
	asked := xxhash.Sum64String(SurfaceVersion + "\x00" + values.canonical())
	return `W/"` + strconv.FormatUint(revision, 36) + "-" + strconv.FormatUint(asked, 36) + `"`
}

// etagFor is the answer's name in a state of readiness: who holds what was stale must
// not be told that it still is the answer when it is so no longer.
func (r *rendered) etagFor(readiness governance.Readiness) string {
	if r.etag == "" || readiness != governance.Stale {
		return r.etag
	}
	return strings.TrimSuffix(r.etag, `"`) + `-stale"`
}

// setValidators says by what an answer can be asked for again, in which spelling,
// and when it has changed. One that is the caller's alone cannot.
func setValidators(c *fiber.Ctx, found *rendered, etag string) {
	setHeader(c, fiber.HeaderETag, etag)
	if !found.nodeLocal {
		setHeader(c, fiber.HeaderLastModified, found.modified)
	}
	if c.OriginalURL() != found.target {
		setHeader(c, fiber.HeaderContentLocation, found.target)
	}
}

// etagMatches says whether the caller has the answer already. Only its name counts: two
// revisions may share a second.
func etagMatches(c *fiber.Ctx, etag string) bool {
	if etag == "" {
		return false
	}
	asked := c.Get(fiber.HeaderIfNoneMatch)
	if asked == "" {
		return false
	}
	for held := range strings.SplitSeq(asked, ",") {
		held = strings.TrimSpace(held)
		if held == "*" || strings.TrimPrefix(held, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
