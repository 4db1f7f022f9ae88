package reference

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/reference/openapi"
)

// errorName is the component name of the response that describes every error.
const errorName = "Error"

// errorResponse describes the errors as one response, since they have one shape: generated
// clients get one type of error, not one for each status of each route. METHOD_NOT_ALLOWED
// is left out: OpenAPI describes methods that exist.
func errorResponse(node Node) *openapi.Response {
	response := &openapi.Response{
		Description: "An answer that is not data.",
		Headers:     headers(fiber.HeaderRetryAfter, x402.HeaderRequired),
		Content: openapi.Members[*openapi.MediaType]{{
			Name: fiber.MIMEApplicationJSON, Value: &openapi.MediaType{Schema: openapi.RefTo("ErrorEnvelope")},
		}},
	}
	for _, info := range node.codes() {
		if info.Code == apierror.CodeMethodNotAllowed {
			continue
		}
		response.Description += fmt.Sprintf(" %d `%s`: %s %s", info.Status, info.Code, info.Description, info.Fix)
		response.Content[0].Value.Examples.Add(string(info.Code), openapi.Object(
			"summary", info.Description, "value", info.Example.Envelope("4bf92f35-77b3-4da6-a3ce-929d0e0e4736"),
		))
	}
	return response
}

// describeErrors lists the errors of a route by status and code.
func describeErrors(route routes.Route, node Node) string {
	var codes []string
	for _, code := range node.codesOf(route) {
		codes = append(codes, fmt.Sprintf("%d `%s`", api.InfoOf(code, true).Status, code))
	}
	return "Errors: " + strings.Join(codes, ", ") + "."
}
