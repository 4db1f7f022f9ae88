package routes

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/maypok86/otter/v2"
)

// Bounds of Parsed: a megabyte.
const (
	maxParsed      = 1024
	maxParsedBytes = 256
)

// Parsed keeps parsed requests by their addresses: most requests repeat one, and parsing takes almost
// half of the time of a handler whose answer the node has a copy of. It is safe for concurrent use.
type Parsed struct {
	requests *otter.Cache[string, *Request]
}

// NewParsed returns a Parsed that keeps none.
func NewParsed() *Parsed {
	return &Parsed{otter.Must(&otter.Options[string, *Request]{MaximumSize: maxParsed})}
}

// Parse is Route.Parse for a request to the route. What it returns is shared.
func (p *Parsed) Parse(r *Route, c *fiber.Ctx) (*Request, error) {
	address := c.Request().Header.RequestURI() // as it was sent: Request.RequestURI writes all forms of a path alike
	if len(address) > maxParsedBytes {
		return r.Parse(c)
	}
	if known, is := p.requests.GetIfPresent(utils.UnsafeString(address)); is && known.Route.ID == r.ID {
		return known, nil
	}
	parsed, err := r.Parse(c)
	if err == nil {
		p.requests.Set(string(address), parsed)
	}
	return parsed, err
}
