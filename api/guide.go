package api

import (
	"fmt"
	"strings"
)

// guide is what a reader should know before the first request, as Markdown.
func guide() string {
	var text strings.Builder
	text.WriteString(guideText)
	text.WriteString("\n## Errors\n\nAn error is `{\"error\": {code, message, details}, \"meta\": {requestId}}`, and says what to do about it.\n\n" +
		"<details><summary>All codes</summary>\n\n| status | code | when | what to do |\n|---|---|---|---|\n")
	for _, info := range Codes() {
		fmt.Fprintf(&text, "| %d | `%s` | %s | %s |\n", info.Status, info.Code, info.Description, info.Fix)
	}
	text.WriteString("\n</details>\n")
	return text.String()
}

const guideText = `A read-only API over the governance of DAOs: every answer is worked out beforehand from what
upstream systems publish, agrees with every other to the last digit, and says how fresh it is.

## Access

Routes of tier ` + "`free`" + ` need nothing. Routes of tier ` + "`standard` and `plus`" + ` take a partner token in
` + "`x-service-api-token`" + `, or a payment per request by the x402 protocol: ask without credentials, pay by
the terms of the 402, and repeat the request. [/v2/meta/pricing](/v2/meta/pricing) has the live prices. Parameters are
checked before anything is charged: nobody pays for a typo. **The try-it of this page does not sign payments**; enter a
token to try paid routes, or see their 402.

## Answers

Data comes as ` + "`{\"data\": …, \"meta\": …}`" + `. Counts and voting power are decimal **strings**, exact to the
last of up to 18 places: do not read them into floats. Times are ISO 8601 in UTC with milliseconds. In parameters, any
RFC 3339 time will do; a date alone is midnight UTC; ` + "`to`" + ` is exclusive. ` + "`meta.dataAsOf`" + ` says when
the data was worked out, ` + "`meta.readiness.status`" + ` how far it may be relied on: ` + "`ready`, `backfilling`, `stale`, `unavailable`" + `.

## Pages

Lists take ` + "`limit` and `cursor`" + `. While ` + "`meta.page.hasMore`" + ` is true, pass ` + "`meta.page.nextCursor`" + `
as ` + "`cursor`" + ` with the same filters, or follow the ` + "`Link`" + ` header. Cursors stay right while data changes, and do not expire.

## Manners

HEAD answers as GET does, without the body. Scripts of any origin may ask. Bodies are compressed with gzip, zstd or
brotli for those who accept it. Send your own ` + "`X-Request-Id`" + ` to find a request in both logs.
`
