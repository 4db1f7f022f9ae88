package httpcache

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Matches reports whether If-None-Match names the answer. If-Modified-Since is ignored: revisions may share a second.
func Matches(c *fiber.Ctx, etag string) bool {
	header := c.Get(fiber.HeaderIfNoneMatch)
	if etag == "" || header == "" {
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
