package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
)

// freeCache lets anybody use a free answer without asking again: for as long as a
// node's own copy may be behind what is published.
const freeCache = "public, max-age=1"

// etagOf names an answer by what it was worked out at and what was asked, in any
// spelling. It cannot be made from the body, where the request's id and time are;
// hence it is weak.
func etagOf(values Values, revision uint64) string {
	asked := xxhash.Sum64String(SurfaceVersion + "\x00" + values.canonical())
	return `W/"` + strconv.FormatUint(revision, 36) + "-" + strconv.FormatUint(asked, 36) + `"`
}

// writeValidators says by what an answer can be asked for again. One that is the
// caller's alone cannot.
func writeValidators(c *fiber.Ctx, route Route, found rendered) {
	if found.etag == "" {
		return
	}
	if !route.Paid() {
		c.Set(fiber.HeaderCacheControl, freeCache)
	}
	c.Set(fiber.HeaderETag, found.etag)
	c.Set(fiber.HeaderLastModified, found.view.DataAsOf.Time().UTC().Format(http.TimeFormat))
}

// isHeld says whether the caller has the answer already. Only its name counts: two
// revisions may share a second.
func isHeld(c *fiber.Ctx, etag string) bool {
	if etag == "" {
		return false
	}
	for held := range strings.SplitSeq(c.Get(fiber.HeaderIfNoneMatch), ",") {
		held = strings.TrimSpace(held)
		if held == "*" || strings.TrimPrefix(held, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
