package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// retrySoon is how long a caller should wait when the service expects to be back
// in a moment.
const retrySoon = 2 * time.Second

// Error is an error as a caller gets to see it.
type Error struct {
	Status  int
	Code    Code
	Message string
	Details map[string]any
	// RetryAfter is sent as a header when it is not zero.
	RetryAfter time.Duration
	// Headers are sent beside it.
	Headers map[string]string
	// Cause is what the log gets to see.
	Cause error
}

// Error returns the message, and the cause behind it.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Cause)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Problem is one thing that is wrong with a request.
type Problem struct {
	Parameter string `json:"parameter,omitempty"`
	Given     string `json:"given,omitempty"`
	Message   string `json:"message"`
	Allowed   string `json:"allowed"`
	// Fix is what to do about it.
	Fix string `json:"fix"`
}

// validationError is the error of a request with wrong parameters.
func validationError(problems []Problem) *Error {
	sentences := make([]string, len(problems))
	for i, p := range problems {
		sentences[i] = strings.TrimSpace(p.Parameter + " " + p.Message)
		if p.Fix == "" {
			problems[i].Fix = "give " + p.Allowed
		}
	}
	return &Error{
		Status: http.StatusBadRequest, Code: CodeValidation,
		Message: strings.Join(sentences, "; "),
		Details: map[string]any{"problems": problems},
	}
}

// notFound is the error of a subject that does not exist, by the parameter that
// names it.
func notFound(parameter, id string) *Error {
	return &Error{
		Status: http.StatusNotFound, Code: CodeNotFound,
		Message: fmt.Sprintf("there is no %s with the %s %q", subjectOf(parameter), parameter, id),
		Details: map[string]any{parameter: id},
	}
}

// subjectOf is what a parameter names.
func subjectOf(parameter string) string {
	switch parameter {
	case "daoId":
		return "DAO"
	case "voterIdentity":
		return "voter"
	}
	return strings.TrimSuffix(parameter, "Key")
}

// unavailable is the error of data that cannot be had at the moment.
func unavailable(cause error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: CodeUnavailable,
		Message:    "the data is not available at the moment, try again shortly",
		RetryAfter: retrySoon, Cause: cause,
	}
}

// toError finds the Error in any error. What is not one of ours is internal, and
// its text stays in the log.
func toError(c *fiber.Ctx, err error) *Error {
	if ours, is := errors.AsType[*Error](err); is {
		return ours
	}
	if fibers, is := errors.AsType[*fiber.Error](err); is {
		return fromFiber(c, fibers)
	}
	return &Error{
		Status: http.StatusInternalServerError, Code: CodeInternal,
		Message: "something went wrong on our side", Cause: err,
	}
}

// unknownPath points at the path that was probably meant, or else at where all are
// described.
func unknownPath(path string) *Error {
	e := &Error{
		Status: http.StatusNotFound, Code: CodeNotFound, Message: "no such path",
		Details: map[string]any{"path": path, "described": PathOpenAPI},
	}
	if near := nearestPath(path); near != "" {
		e.Message += ", did you mean " + near + "?"
		e.Details["nearest"] = near
	}
	return e
}

func fromFiber(c *fiber.Ctx, err *fiber.Error) *Error {
	switch err.Code {
	case http.StatusNotFound:
		return unknownPath(strings.Clone(c.Path()))
	case http.StatusMethodNotAllowed:
		return methodNotAllowed(method(c))
	}
	if err.Code < http.StatusInternalServerError {
		return malformedRequest(err.Code)
	}
	return &Error{
		Status: http.StatusInternalServerError, Code: CodeInternal,
		Message: "something went wrong on our side", Cause: err,
	}
}

// methodNotAllowed is the error of a method that nothing here has.
func methodNotAllowed(method string) *Error {
	return &Error{
		Status: http.StatusMethodNotAllowed, Code: CodeMethodNotAllowed,
		Message: method + " is not allowed here",
		Details: map[string]any{"allowed": allowedMethods()},
	}
}

// malformedRequest is the error of what cannot be read as a request.
func malformedRequest(status int) *Error {
	return &Error{Status: status, Code: CodeValidation, Message: strings.ToLower(http.StatusText(status))}
}

// writeError sends an error in its envelope: the only place that does.
func (a *API) writeError(c *fiber.Ctx, err error) error {
	e := toError(c, err)
	c.Locals(errorKey{}, e)
	if e.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(seconds(e.RetryAfter)))
	}
	for name, value := range e.Headers {
		c.Set(name, value)
	}
	c.Set(fiber.HeaderCacheControl, errorControl(c, e.Status))
	return writeJSON(c, e.Status, e.envelope(requestID(c)))
}

// envelope is the error as a body.
func (e *Error) envelope(requestID string) ErrorEnvelope {
	details := e.Details
	if details == nil {
		details = map[string]any{}
	}
	return ErrorEnvelope{
		Error: ErrorBody{Code: e.Code, Message: e.Message, Details: details},
		Meta:  ErrorMeta{RequestID: requestID},
	}
}
