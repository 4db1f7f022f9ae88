package fetch

import (
	"net/netip"
	"time"
)

// Impatient lets every attempt end after a moment.
func (c *Client) Impatient(limit time.Duration) {
	c.http = newHTTPClient(timeouts{connect: limit, header: limit, total: limit})
}

// IsPublic exports isPublic.
func IsPublic(address netip.Addr) bool { return isPublic(address) }
