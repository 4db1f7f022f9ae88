// Package apierror holds the errors that callers get: codes, messages, fixes and the envelope. Package api chooses
// the status of an answer by them, and writes them.
package apierror

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/param"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// unavailableRetry is the Retry-After of 503 where no better value is known.
const unavailableRetry = 2 * time.Second

// Error is an error with everything that is sent to the caller.
type Error struct {
	Status  int
	Code    Code
	Message string
	// Details is error.details, which encodes to a JSON object; nil for an empty one.
	Details any
	// RetryAfter is sent as the Retry-After header, in whole seconds; zero for none.
	RetryAfter time.Duration
	Headers    map[string]string
	// Cause is logged and never sent; nil for none.
	Cause error
}

// New returns an error without a cause, with a message as fmt.Sprintf makes it.
func New(status int, code Code, details any, message string, args ...any) *Error {
	return &Error{Status: status, Code: code, Details: details, Message: fmt.Sprintf(message, args...)}
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Cause)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Problems returns what is wrong with the parameters; none for another error.
func (e *Error) Problems() []param.Problem {
	details, _ := e.Details.(ProblemDetails)
	return details.Problems
}

// Sentence ends a text with a full stop, unless it ends with a question mark.
func Sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Advice says what is allowed, how to mend the request and when to retry; empty where only CodeInfo.Fix does.
func (e *Error) Advice() string {
	var sentences []string
	for _, problem := range e.Problems() {
		switch {
		case strings.HasPrefix(problem.Message, param.NoParameter):
			sentences = append(sentences, "Allowed: "+problem.Allowed+".")
		case !strings.Contains(problem.Message, problem.Allowed):
			sentences = append(sentences, strings.TrimSpace(problem.Parameter+" may be "+problem.Allowed)+".")
		}
		if fix := problem.Fix; fix != "" && fix != "give "+problem.Allowed {
			sentences = append(sentences, Sentence(strings.ToUpper(fix[:1])+fix[1:]))
		}
	}
	if e.RetryAfter > 0 {
		sentences = append(sentences, fmt.Sprintf("Try again in %d seconds.", Seconds(e.RetryAfter)))
	}
	return strings.Join(sentences, " ")
}

// maxEchoBytes bounds each repeated text of a caller: an answer stays within four times the longest request.
const maxEchoBytes = 64

// Validation is the error of wrong parameters: problems, and omitted further ones. Problems without a fix get one.
func Validation(problems []param.Problem, omitted int) *Error {
	omitted += max(0, len(problems)-param.MaxProblems)
	problems = problems[:min(len(problems), param.MaxProblems)]
	sentences := make([]string, 0, len(problems)+1)
	for i := range problems {
		p := &problems[i]
		p.Parameter, p.Given = governance.Shorten(p.Parameter, maxEchoBytes), governance.Shorten(p.Given, maxEchoBytes)
		p.Fix = cmp.Or(p.Fix, "give "+p.Allowed)
		sentences = append(sentences, strings.TrimSpace(p.Parameter+" "+p.Message))
	}
	if omitted > 0 {
		sentences = append(sentences, fmt.Sprintf("and %d more", omitted))
	}
	return New(http.StatusBadRequest, CodeValidation, ProblemDetails{omitted, problems}, "%s", strings.Join(sentences, "; "))
}

// NotFound is the error of an id that nothing has, in the parameter of that name.
func NotFound(parameter, id string) *Error {
	subject := cmp.Or(map[string]string{"daoId": "DAO", "voterIdentity": "voter"}[parameter], strings.TrimSuffix(parameter, "Key"))
	return New(http.StatusNotFound, CodeNotFound, SubjectDetails{parameter: id}, "there is no %s with the %s %q", subject, parameter, id)
}

// CursorExpired is the error of a cursor after which changes are missing: they are too old or too many, or the
// warehouse was restored from a backup. All changes since a time are kept.
func CursorExpired(since governance.Timestamp) *Error {
	return New(http.StatusGone, CodeCursorExpired, map[string]any{"since": since},
		"changes are kept since %s only: take a new cursor, or an export without since, and read everything again", since)
}

// TooManyWaiting is the error of a request that would wait for changes.
func TooManyWaiting() *Error {
	e := Unavailable(errors.New("too many requests wait for changes"))
	e.Message = "too many requests wait for changes at this node: retry later, or omit `wait`"
	return e
}

// MethodNotAllowed is the error of a method that no path has.
func MethodNotAllowed(method string) *Error {
	return New(http.StatusMethodNotAllowed, CodeMethodNotAllowed, map[string]any{"allowed": AllowedMethods()}, "%s is not allowed here", method)
}

// Malformed is the error of bytes that are no HTTP request within the server's limits. Status is one of 4xx.
func Malformed(status int) *Error {
	return &Error{Status: status, Code: CodeValidation, Message: strings.ToLower(http.StatusText(status))}
}

// Unavailable is the error of data that cannot be read at the moment.
func Unavailable(cause error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		Message:    "the data is not available at the moment, try again shortly",
		RetryAfter: unavailableRetry, Cause: cause,
	}
}

// Internal is the error of a fault of the service.
func Internal(cause error) *Error {
	return &Error{
		Status: http.StatusInternalServerError, Code: CodeInternal, Message: "something went wrong on our side", Cause: cause,
	}
}

// Of returns the Error in an error. Any other is internal: its text is logged, not sent.
func Of(err error) *Error {
	if ours, is := errors.AsType[*Error](err); is {
		return ours
	}
	return Internal(err)
}

// Envelope returns the body of the answer to the request with that id.
func (e *Error) Envelope(requestID string) ErrorEnvelope {
	return ErrorEnvelope{
		Error: ErrorBody{Code: e.Code, Message: e.Message, Details: cmp.Or(e.Details, any(struct{}{}))},
		Meta:  ErrorMeta{RequestID: requestID},
	}
}

// AllowedMethods lists the methods of every path.
func AllowedMethods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodOptions}
}

// Seconds rounds up, so that a caller that waits for so long has waited long enough.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// ErrorEnvelope is the body of every error.
type ErrorEnvelope struct {
	Error ErrorBody `json:"error"`
	Meta  ErrorMeta `json:"meta"`
}

// ErrorBody is what went wrong.
type ErrorBody struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Details depends on the code; it encodes to a JSON object.
	Details any `json:"details"`
}

// ErrorMeta identifies the request that an error answers.
type ErrorMeta struct {
	RequestID string `json:"requestId"`
}

// Code is the machine-readable name of an error.
type Code string

// The codes of errors. Codes describes them.
const (
	CodeValidation        Code = "VALIDATION_ERROR"
	CodeUnauthorized      Code = "UNAUTHORIZED"
	CodePaymentRequired   Code = "PAYMENT_REQUIRED"
	CodeForbidden         Code = "FORBIDDEN"
	CodeNotFound          Code = "NOT_FOUND"
	CodeMethodNotAllowed  Code = "METHOD_NOT_ALLOWED"
	CodePaymentInProgress Code = "PAYMENT_IN_PROGRESS"
	CodeExportGone        Code = "EXPORT_GONE"
	CodeCursorExpired     Code = "CURSOR_EXPIRED"
	CodeRateLimited       Code = "RATE_LIMITED"
	CodeQuotaExceeded     Code = "QUOTA_EXCEEDED"
	CodeInternal          Code = "INTERNAL"
	CodeUnavailable       Code = "UNAVAILABLE"
	CodeSettlementPending Code = "SETTLEMENT_PENDING"
)

// OfPayments reports whether only payments for single requests cause the error.
func (c Code) OfPayments() bool { return c == CodePaymentInProgress || c == CodeSettlementPending }

// The types below are error.details with more than a member or two; others are maps. Answers and the published
// examples are made of the same values. JSON names are in alphabetical order.

// ProblemDetails is error.details of VALIDATION_ERROR with 400.
type ProblemDetails struct {
	// Omitted is how many further problems there are.
	Omitted int `json:"omitted,omitempty"`
	// Problems lists what is wrong with the parameters, at most MaxProblems of it.
	Problems []param.Problem `json:"problems"`
}

// HeaderDetails is error.details of UNAUTHORIZED, and of a malformed payment.
type HeaderDetails struct {
	Header string `json:"header"`
	// Reason is the x402 error code; empty for tokens.
	Reason string `json:"reason,omitempty"`
}

// PaymentDetails is error.details of PAYMENT_REQUIRED: what opens the route.
type PaymentDetails struct {
	Header string `json:"header"`
	// Payment is what to pay; nil where no payments are taken.
	Payment *PaymentTerms `json:"payment,omitempty"`
	// Reason is the x402 error code; empty where no payments are taken.
	Reason  string `json:"reason,omitempty"`
	RouteID string `json:"routeId"`
	// Scope is the narrowest scope of a token that opens it.
	Scope access.Scope    `json:"scope"`
	Tier  governance.Tier `json:"tier"`
}

// PaymentTerms are the terms of x402, which the PAYMENT-REQUIRED header has as well.
type PaymentTerms struct {
	Accepts     []x402.Requirements `json:"accepts"`
	Header      string              `json:"header"`
	Resource    x402.Resource       `json:"resource"`
	X402Version int                 `json:"x402Version"`
}

// ReasonDetails is error.details of PAYMENT_IN_PROGRESS, SETTLEMENT_PENDING, and UNAVAILABLE due to a payment.
type ReasonDetails struct {
	// Reason is the x402 error code; empty for none.
	Reason string `json:"reason,omitempty"`
}

// SubjectDetails is error.details of NOT_FOUND for an id: the parameter, and the id.
type SubjectDetails map[string]string

// PathDetails is error.details of NOT_FOUND for a path.
type PathDetails struct {
	Described string `json:"described"`
	// Nearest is the most similar path; empty where none is similar.
	Nearest string `json:"nearest,omitempty"`
	Path    string `json:"path"`
}

// RateDetails is error.details of RATE_LIMITED.
type RateDetails struct {
	Bucket ratelimit.Bucket `json:"bucket"`
	// Burst is the size of the bucket, in requests.
	Burst int `json:"burst"`
	// Limit is how many requests a minute refill it.
	Limit int `json:"limit"`
	// Plan is the caller's plan; "free" for free routes.
	Plan      string `json:"plan"`
	Remaining int    `json:"remaining"`
	// ResetAt is when one more request is allowed, as Retry-After says.
	ResetAt governance.Timestamp `json:"resetAt"`
}

// QuotaDetails is error.details of QUOTA_EXCEEDED.
type QuotaDetails struct {
	// Bucket is "month".
	Bucket string `json:"bucket"`
	// Limit is how many answers the plan has a month.
	Limit int64  `json:"limit"`
	Plan  string `json:"plan"`
	// Remaining is zero.
	Remaining int `json:"remaining"`
	// ResetAt is when the next month begins.
	ResetAt governance.Timestamp `json:"resetAt"`
}
