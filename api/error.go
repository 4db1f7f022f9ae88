package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// CodeInfo describes an error code to callers.
type CodeInfo struct {
	// Code is the code.
	Code apierror.Code
	// Status is the HTTP status that comes with it, with few exceptions.
	Status int
	// Description is when the error is sent.
	Description string
	// Fix is what a caller should do then.
	Fix string
	// Example is an error as it is sent.
	Example *apierror.Error
}

// Codes is the table of error codes of a node. Without payments for single requests it has
// no code of theirs, and no advice to pay.
func Codes(payments bool) []CodeInfo {
	all := allCodes()
	if payments {
		return all
	}
	all = slices.DeleteFunc(all, func(info CodeInfo) bool { return info.Code.OfPayments() })
	for i := range all {
		switch info := &all[i]; info.Code {
		case apierror.CodePaymentRequired:
			info.Description, info.Fix = "A paid route was asked without a token.", "Send a token, which the operator issues."
			info.Example = tokenRequired(routes.Route{ID: "proposals.detail", Tier: routes.Plus})
		case apierror.CodeUnauthorized:
			info.Fix = "Send the token as it was issued in x-service-api-token."
		case apierror.CodeQuotaExceeded:
			info.Fix = "Wait for the month to end, or change the plan."
		default:
		}
	}
	return all
}

// allCodes is the table of a node that takes payments.
func allCodes() []CodeInfo {
	plan, now := ratelimit.Developer, time.Date(2026, time.January, 31, 11, 59, 58, 0, time.UTC)
	limits, month := plan.Limits(), ratelimit.MonthOf(now)
	route := routes.Route{ID: "proposals.detail", Tier: routes.Plus}
	return []CodeInfo{
		{
			Code: apierror.CodeValidation, Status: http.StatusBadRequest,
			Description: "A parameter is unknown, missing, repeated, malformed or out of bounds; all problems are listed at once, up to 20; details.omitted counts the others. " +
				"The same code comes with 408, 413, 414 and 431 for requests that are too slow or too large, with 415 for a body with a Content-Encoding, and with 416 for a Range after the end.",
			Fix: "Change what details.problems names. Nothing was charged or counted.",
			Example: apierror.Validation([]param.Problem{
				*param.Unknown("limits", "5", []string{"cursor", "limit"}),
			}, 0),
		},
		{
			Code: apierror.CodeUnauthorized, Status: http.StatusUnauthorized,
			Description: "The token is malformed, unknown or revoked.",
			Fix:         "Send the token as it was issued in x-service-api-token, or leave the header out and pay per request.",
			Example:     credentialError(access.ErrUnauthorized),
		},
		{
			Code: apierror.CodePaymentRequired, Status: http.StatusPaymentRequired,
			Description: "A paid route was asked without a token or a payment, or the payment was refused.",
			Fix:         "Pay by the terms in the PAYMENT-REQUIRED header and repeat the request with PAYMENT-SIGNATURE, or send a token.",
			Example:     paymentError(route, x402.ExampleRefusal(x402.Required)),
		},
		{
			Code: apierror.CodeForbidden, Status: http.StatusForbidden,
			Description: "The token's scopes do not open this route.",
			Fix:         "Use a token that has details.scopeNeeded.",
			Example:     forbidden(access.V2Plus, []access.Scope{access.V2Standard}),
		},
		{
			Code: apierror.CodeNotFound, Status: http.StatusNotFound,
			Description: "There is no such path, or nothing with the id in it.",
			Fix:         "Take ids and keys from lists. For a path, details.nearest is the closest one there is.",
			Example:     apierror.NotFound("daoId", "nobody"),
		},
		{
			Code: apierror.CodeMethodNotAllowed, Status: http.StatusMethodNotAllowed,
			Description: "The path knows GET, HEAD and OPTIONS only.",
			Fix:         "Use GET.",
			Example:     apierror.MethodNotAllowed(http.MethodPost),
		},
		{
			Code: apierror.CodePaymentInProgress, Status: http.StatusConflict,
			Description: "The same payment is being settled for another request.",
			Fix:         "Wait for Retry-After, then repeat the request with the same payment.",
			Example:     paymentError(route, x402.ExampleRefusal(x402.InProgress)),
		},
		{
			Code: apierror.CodeExportGone, Status: http.StatusGone,
			Description: "The rows that the part's address names cannot be read any more: they changed, or were withdrawn.",
			Fix:         "Begin again at details.manifest. Of a DAO, parts with digests that you have need not be read again; of ballots, drop the parts of the earlier revision.",
			Example:     routes.ExportGone(routes.ExportPath("p1_f_XfJz_6yGy1gCgoSU2qbg")),
		},
		{
			Code: apierror.CodeCursorExpired, Status: http.StatusGone,
			Description: "What comes after the cursor, the time in from or the revision in since is older than seven days or half a million rows, or the service was restored from a backup.",
			Fix:         "Take a cursor without from, read again what you keep a copy of, and go on with that cursor; or export without since.",
			Example:     apierror.CursorExpired(governance.TimestampOf(now)),
		},
		{
			Code: apierror.CodeRateLimited, Status: http.StatusTooManyRequests,
			Description: "The bucket of the caller is empty.",
			Fix:         "Wait for Retry-After; the RateLimit headers say what is left.",
			Example: rateLimited(string(plan), ratelimit.Standard, limits.Standard,
				ratelimit.Decision{RetryAfter: 2 * time.Second}, now),
		},
		{
			Code: apierror.CodeQuotaExceeded, Status: http.StatusTooManyRequests,
			Description: "The plan's quota of the calendar month (UTC) is used up.",
			Fix:         "Wait for the month to end, change the plan, or pay per request.",
			Example:     quotaExceeded(string(plan), ratelimit.Quota{Month: month, Limit: limits.Month, Used: limits.Month}, now),
		},
		{
			Code: apierror.CodeInternal, Status: http.StatusInternalServerError,
			Description: "An error of the service.",
			Fix:         "Retry; if it persists, report meta.requestId, which the log of the service has.",
			Example:     apierror.Internal(nil),
		},
		{
			Code: apierror.CodeUnavailable, Status: http.StatusServiceUnavailable,
			Description: "The data is not available at the moment: it was not computed yet, or too many requests wait for it.",
			Fix:         "Wait for Retry-After and try again. Nothing was charged or counted.",
			Example:     apierror.Unavailable(nil),
		},
		{
			Code: apierror.CodeSettlementPending, Status: http.StatusGatewayTimeout,
			Description: "The payment was submitted, and whether it was settled is not known yet.",
			Fix:         "Repeat the request with the same payment: it is never settled twice.",
			Example:     paymentError(route, x402.ExampleRefusal(x402.Pending)),
		},
	}
}

// InfoOf returns the row of a code in the table of a node.
func InfoOf(c apierror.Code, payments bool) CodeInfo {
	for _, info := range Codes(payments) {
		if info.Code == c {
			return info
		}
	}
	return CodeInfo{Code: apierror.CodeInternal, Status: http.StatusInternalServerError}
}

// unknownPath is the error of a path without a route. It names the most similar path,
// and the document that describes all.
func unknownPath(path string) *apierror.Error {
	details := apierror.PathDetails{Path: governance.Shorten(path, param.MaxTextBytes), Described: PathOpenAPI, Nearest: cmp.Or(meantPath(path), nearestPath(path))}
	message := "no such path"
	if details.Nearest != "" {
		message += ", did you mean " + details.Nearest + "?"
	}
	return &apierror.Error{Status: http.StatusNotFound, Code: apierror.CodeNotFound, Message: message, Details: details}
}

// toError is ErrorOf for an error of a handler, which may be one of Fiber's.
func toError(c *fiber.Ctx, err error) *apierror.Error {
	fibers, is := errors.AsType[*fiber.Error](err)
	switch {
	case !is:
		return apierror.Of(err)
	case fibers.Code == http.StatusNotFound:
		return unknownPath(strings.Clone(c.Path()))
	case fibers.Code == http.StatusMethodNotAllowed:
		return apierror.MethodNotAllowed(shownMethod(c.Method()))
	case fibers.Code < http.StatusInternalServerError:
		return apierror.Malformed(fibers.Code)
	}
	return apierror.Internal(err)
}

// writeError sends an error in its envelope. No other function does.
func (a *API) writeError(c *fiber.Ctx, err error) error {
	s := stateOf(c)
	e := a.admission.limitRefusal(c, s, toError(c, err))
	s.err = e
	if s.route != nil {
		setVary(c, s)
	}
	setErrorHeaders(c, e)
	c.Set(fiber.HeaderCacheControl, errorCacheControl(c, s, e))
	return writeJSON(c, e.Status, e.Envelope(s.requestID(c)))
}

// setErrorHeaders sets the headers that an error brings.
func setErrorHeaders(c *fiber.Ctx, e *apierror.Error) {
	if e.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(apierror.Seconds(e.RetryAfter)))
	}
	for name, value := range e.Headers {
		c.Set(name, value)
	}
}
