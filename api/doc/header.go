package doc

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/doc/openapi"
)

// describeHeaders describes the headers of answers.
func describeHeaders() openapi.Members[*openapi.Header] {
	text := func(description string, example any) *openapi.Header {
		return &openapi.Header{Description: description, Schema: &openapi.Schema{Type: "string"}, Example: example, XAddition: true}
	}
	return openapi.Members[*openapi.Header]{
		{Name: api.HeaderRequestID, Value: text("The request's id: the caller's own where it has up to 64 letters, digits, dots, dashes or underscores, or a fresh one.", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736")},
		{Name: fiber.HeaderCacheControl, Value: text("Who may keep the answer, and for how long.", "private, max-age=1")},
		{Name: fiber.HeaderVary, Value: text("By which headers of the request the answer was chosen.", "Accept-Encoding")},
		{Name: fiber.HeaderLastModified, Value: text("When the data was computed, to the second.", "Sat, 31 Jan 2026 12:00:00 GMT")},
		{Name: fiber.HeaderContentLocation, Value: text("The one spelling of what was asked; absent when it was asked so.", "/v2/daos?hasVoteData=true")},
		{Name: api.HeaderCacheStatus, Value: text("Which caches were asked for the answer (RFC 9211), the one nearest to the caller last.", "pnyx-node; hit")},
		{Name: api.HeaderSurrogateKey, Value: text("What the answer is made from, for caches that are told when it changes.", "all dao:uniswap")},
		{Name: api.HeaderCacheTag, Value: text("Surrogate-Key, joined by commas.", "all,dao:uniswap")},
		{Name: fiber.HeaderETag, Value: text("Names the answer; sent back as If-None-Match it saves the body while nothing changed.", `"1f2e3d"`)},
		{Name: fiber.HeaderLink, Value: text(`The next page, with rel="next"; absent on the last one.`, `</v2/daos?cursor=EDuh5eTB9Cmn>; rel="next"`)},
		{Name: api.HeaderServerTiming, Value: text("How long the answer took, in milliseconds.", "app;dur=0.412")},
		{Name: api.HeaderRateLimit, Value: text("What is left of the caller's bucket.", `"standard";r=29;t=2`)},
		{Name: api.HeaderRateLimitPolicy, Value: text("The size of the caller's bucket.", `"standard";q=30;w=60`)},
		{Name: fiber.HeaderRetryAfter, Value: &openapi.Header{
			Description: "How many seconds to wait.", Schema: &openapi.Schema{Type: "integer", Minimum: new(int)}, Example: 2, XAddition: true,
		}},
		{Name: x402.HeaderRequired, Value: text("The terms of payment: base64 of x402's PaymentRequired.", "eyJ4NDAyVmVyc2lvbiI6Mn0=")},
		{Name: x402.HeaderReceipt, Value: text("The receipt of a payment: base64 of x402's SettleResponse, with the hash of the transaction.", "eyJzdWNjZXNzIjp0cnVlfQ==")},
	}
}

// headers refers to the descriptions of headers.
func headers(names ...string) openapi.Members[*openapi.Header] {
	var all openapi.Members[*openapi.Header]
	for _, name := range names {
		all.Add(name, &openapi.Header{Ref: "#/components/headers/" + name})
	}
	return all
}

// keptHeaders lists the headers that a 304 has like the answer that it stands for.
func keptHeaders(route api.Route) []string {
	names := []string{api.HeaderRequestID, fiber.HeaderCacheControl, fiber.HeaderVary}
	if route.TokenOnly {
		return names
	}
	return append(names, fiber.HeaderETag, fiber.HeaderLastModified, fiber.HeaderContentLocation,
		api.HeaderCacheStatus, api.HeaderSurrogateKey, api.HeaderCacheTag)
}

// answerHeaders refers to the headers of a route's answers with data.
func answerHeaders(route api.Route) openapi.Members[*openapi.Header] {
	names := append(keptHeaders(route), api.HeaderServerTiming, api.HeaderRateLimit, api.HeaderRateLimitPolicy)
	if route.Paged() {
		names = append(names, fiber.HeaderLink)
	}
	if route.Paid() {
		names = append(names, x402.HeaderReceipt)
	}
	return headers(names...)
}

// errorHeaders refers to the headers of errors with a status.
func errorHeaders(status int) openapi.Members[*openapi.Header] {
	names := []string{api.HeaderRequestID, fiber.HeaderCacheControl, api.HeaderServerTiming, api.HeaderRateLimit, api.HeaderRateLimitPolicy}
	switch status {
	case http.StatusPaymentRequired:
		names = append(names, x402.HeaderRequired, x402.HeaderReceipt)
	case http.StatusTooManyRequests, http.StatusConflict, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		names = append(names, fiber.HeaderRetryAfter)
	}
	return headers(names...)
}
