package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/api/param"
	"pnyx/governance"
)

// unavailableRetry is the Retry-After of 503 where no better value is known.
const unavailableRetry = 2 * time.Second

// internalMessage is the message of every INTERNAL error.
const internalMessage = "something went wrong on our side"

// Error is an error with everything that is sent to the caller.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is error.code.
	Code Code
	// Message is error.message.
	Message string
	// Details is error.details, which encodes to a JSON object; nil for an empty one.
	Details any
	// RetryAfter is sent as the Retry-After header, in whole seconds; zero for none.
	RetryAfter time.Duration
	// Headers are further headers of the answer, by name.
	Headers map[string]string
	// Cause is logged and never sent; nil for none.
	Cause error
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
	details, _ := e.Details.(problemDetails)
	return details.Problems
}

// Advice says what is allowed and when to try again, in sentences; empty where only the code
// says what to do, see CodeInfo.Fix.
func (e *Error) Advice() string {
	var sentences []string
	for _, problem := range e.Problems() {
		if problem.Allowed != "" {
			sentences = append(sentences, strings.TrimSpace(problem.Parameter+" may be "+problem.Allowed)+".")
		}
	}
	if e.RetryAfter > 0 {
		sentences = append(sentences, fmt.Sprintf("Try again in %d seconds.", seconds(e.RetryAfter)))
	}
	return strings.Join(sentences, " ")
}

// maxEchoBytes bounds how much of each of the caller's texts an answer repeats: it stays
// within four times the longest request.
const maxEchoBytes = 64

// validationError is the error of a request with wrong parameters: problems, and omitted
// further ones. Problems without a fix get one.
func validationError(problems []param.Problem, omitted int) *Error {
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
	return &Error{
		Status: http.StatusBadRequest, Code: CodeValidation,
		Message: strings.Join(sentences, "; "),
		Details: problemDetails{omitted, problems},
	}
}

// notFound is the error of an id that nothing has, in the parameter of that name.
func notFound(parameter, id string) *Error {
	return &Error{
		Status: http.StatusNotFound, Code: CodeNotFound,
		Message: fmt.Sprintf("there is no %s with the %s %q", subjectOf(parameter), parameter, id),
		Details: subjectDetails{parameter: id},
	}
}

// subjectOf returns the noun for what a parameter identifies.
func subjectOf(parameter string) string {
	switch parameter {
	case "daoId":
		return "DAO"
	case "voterIdentity":
		return "voter"
	}
	return strings.TrimSuffix(parameter, "Key")
}

// cursorExpired is the error of a place in the changes after which some are missing: they are
// too old or too many, or the warehouse was restored from a backup. All rows since a time are kept.
func cursorExpired(since governance.Timestamp) *Error {
	return &Error{
		Status: http.StatusGone, Code: CodeCursorExpired,
		Message: "changes are kept since " + since.String() + " only: take a new cursor, or an export without since, and read everything again",
		Details: expiryDetails{since},
	}
}

// tooManyWaiting is the error of a request that would wait for changes.
func tooManyWaiting() *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		Message:    "too many requests wait for changes at this node: retry later, or omit `wait`",
		RetryAfter: unavailableRetry, Cause: errors.New("too many requests wait for changes"),
	}
}

// unknownPath is the error of a path without a route. It names the most similar path,
// and the document that describes all.
func unknownPath(path string) *Error {
	details := pathDetails{Path: governance.Shorten(path, param.MaxTextBytes), Described: PathOpenAPI, Nearest: cmp.Or(meantPath(path), nearestPath(path))}
	message := "no such path"
	if details.Nearest != "" {
		message += ", did you mean " + details.Nearest + "?"
	}
	return &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: message, Details: details}
}

// methodNotAllowed is the error of a method that no path has.
func methodNotAllowed(method string) *Error {
	return &Error{
		Status: http.StatusMethodNotAllowed, Code: CodeMethodNotAllowed,
		Message: method + " is not allowed here",
		Details: methodDetails{allowedMethods()},
	}
}

// malformedRequest is the error of bytes that are no HTTP request within the limits of
// the server. Status is one of 4xx.
func malformedRequest(status int) *Error {
	return &Error{Status: status, Code: CodeValidation, Message: strings.ToLower(http.StatusText(status))}
}

// unavailable is the error of data that cannot be read at the moment.
func unavailable(cause error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		Message:    "the data is not available at the moment, try again shortly",
		RetryAfter: unavailableRetry, Cause: cause,
	}
}

// internalError is the error of a fault of the service.
func internalError(cause error) *Error {
	return &Error{
		Status: http.StatusInternalServerError, Code: CodeInternal, Message: internalMessage, Cause: cause,
	}
}

// ErrorOf returns the Error in an error. Any other is internal: its text is logged, not sent.
func ErrorOf(err error) *Error {
	if ours, is := errors.AsType[*Error](err); is {
		return ours
	}
	return internalError(err)
}

// toError is ErrorOf for an error of a handler, which may be one of Fiber's.
func toError(c *fiber.Ctx, err error) *Error {
	fibers, is := errors.AsType[*fiber.Error](err)
	switch {
	case !is:
		return ErrorOf(err)
	case fibers.Code == http.StatusNotFound:
		return unknownPath(strings.Clone(c.Path()))
	case fibers.Code == http.StatusMethodNotAllowed:
		return methodNotAllowed(shownMethod(c.Method()))
	case fibers.Code < http.StatusInternalServerError:
		return malformedRequest(fibers.Code)
	}
	return internalError(err)
}

// writeError sends an error in its envelope. No other function does.
func (a *API) writeError(c *fiber.Ctx, err error) error {
	s := stateOf(c)
	e := a.limitRefusal(c, s, toError(c, err))
	s.err = e
	if s.route != nil {
		setVary(c, s)
	}
	e.setHeaders(c)
	c.Set(fiber.HeaderCacheControl, errorCacheControl(c, s, e.Status))
	return writeJSON(c, e.Status, e.Envelope(s.requestID(c)))
}

// setHeaders sets the headers that an error brings.
func (e *Error) setHeaders(c *fiber.Ctx) {
	if e.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(seconds(e.RetryAfter)))
	}
	for name, value := range e.Headers {
		c.Set(name, value)
	}
}

// Envelope returns the body of the answer to the request with that id.
func (e *Error) Envelope(requestID string) ErrorEnvelope {
	details := e.Details
	if details == nil {
		details = noDetails{}
	}
	return ErrorEnvelope{
		Error: ErrorBody{Code: e.Code, Message: e.Message, Details: details},
		Meta:  ErrorMeta{RequestID: requestID},
	}
}
