package api

import (
	"cmp"
	_ "embed" // codes.json
	"encoding/json"
	"errors"
	"fmt"
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
	Code apierror.Code
	// Status is the HTTP status that comes with it, with few exceptions.
	Status      int
	Description string
	Fix         string
	Example     *apierror.Error
	// DescriptionWithoutPayments and FixWithoutPayments replace Description and Fix where no payments for single
	// requests are taken; empty where they are the same.
	DescriptionWithoutPayments, FixWithoutPayments string
}

// codeRows are the rows of the table of error codes, without examples.
//
//go:embed codes.json
var codeRows []byte

// Codes is the table of error codes of a node. Without payments for single requests it has no code about them, and
// no advice to pay. It panics on a row that cannot be read, which the tests of this package would show.
func Codes(payments bool) []CodeInfo {
	var all []CodeInfo
	if err := json.Unmarshal(codeRows, &all); err != nil {
		panic(fmt.Sprintf("codes.json: %v", err))
	}
	if !payments {
		all = slices.DeleteFunc(all, func(info CodeInfo) bool { return info.Code.OfPayments() })
	}
	examples := exampleErrors()
	if !payments {
		examples[apierror.CodePaymentRequired] = tokenRequired(exampleRoute())
	}
	for i := range all {
		info := &all[i]
		info.Example = examples[info.Code]
		if !payments {
			info.Description = cmp.Or(info.DescriptionWithoutPayments, info.Description)
			info.Fix = cmp.Or(info.FixWithoutPayments, info.Fix)
		}
	}
	return all
}

func exampleRoute() routes.Route { return routes.Route{ID: "proposals.detail", Tier: governance.Plus} }

// exampleErrors are examples of a node that takes payments.
func exampleErrors() map[apierror.Code]*apierror.Error {
	plan, now := ratelimit.Developer, time.Date(2026, time.January, 31, 11, 59, 58, 0, time.UTC)
	limits, month := plan.Limits(), ratelimit.MonthOf(now)
	refused := func(kind x402.Kind) *apierror.Error { return paymentError(exampleRoute(), x402.ExampleRefusal(kind)) }
	return map[apierror.Code]*apierror.Error{
		apierror.CodeValidation:        apierror.Validation([]param.Problem{*param.Unknown("limits", "5", []string{"cursor", "limit"})}, 0),
		apierror.CodeUnauthorized:      credentialError(access.ErrUnauthorized),
		apierror.CodePaymentRequired:   refused(x402.Required),
		apierror.CodeForbidden:         forbidden(access.V2Plus, []access.Scope{access.V2Standard}),
		apierror.CodeNotFound:          apierror.NotFound("daoId", "nobody"),
		apierror.CodeMethodNotAllowed:  apierror.MethodNotAllowed(http.MethodPost),
		apierror.CodePaymentInProgress: refused(x402.InProgress),
		apierror.CodeExportGone:        routes.ExportGone(routes.ExportPath("p1_f_XfJz_6yGy1gCgoSU2qbg")),
		apierror.CodeCursorExpired:     apierror.CursorExpired(governance.TimestampOf(now)),
		apierror.CodeRateLimited:       rateLimited(string(plan), ratelimit.Standard, limits.Standard, ratelimit.Decision{RetryAfter: 2 * time.Second}, now),
		apierror.CodeQuotaExceeded:     quotaExceeded(string(plan), ratelimit.Quota{Month: month, Limit: limits.Month, Used: limits.Month}, now),
		apierror.CodeInternal:          apierror.Internal(nil),
		apierror.CodeUnavailable:       apierror.Unavailable(nil),
		apierror.CodeSettlementPending: refused(x402.Pending),
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

// unknownPath is the error of a path without a route. It names the most similar path and the OpenAPI document.
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

func setErrorHeaders(c *fiber.Ctx, e *apierror.Error) {
	if e.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(apierror.Seconds(e.RetryAfter)))
	}
	for name, value := range e.Headers {
		c.Set(name, value)
	}
}
