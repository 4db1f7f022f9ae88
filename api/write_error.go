package api

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/governance"
)

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
	c.Set(fiber.HeaderCacheControl, errorCacheControl(c, s, e.Status))
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
