package doc

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/api/doc/openapi"
)

// errorResponses describes the errors, one response a status. METHOD_NOT_ALLOWED is left
// out: OpenAPI describes methods that exist.
func errorResponses() openapi.Members[*openapi.Response] {
	var all openapi.Members[*openapi.Response]
	for _, info := range api.Codes() {
		if info.Code == api.CodeMethodNotAllowed {
			continue
		}
		name := responseName(info.Status)
		response, known := all.Get(name)
		if !known {
			response = &openapi.Response{
				Headers: errorHeaders(info.Status),
				Content: openapi.Members[*openapi.MediaType]{{
					Name: fiber.MIMEApplicationJSON, Value: &openapi.MediaType{Schema: errorSchema(info.Code)},
				}},
			}
			all.Add(name, response)
		}
		response.Description = strings.TrimSpace(fmt.Sprintf("%s `%s`: %s %s", response.Description, info.Code, info.Description, info.Fix))
		response.Content[0].Value.Examples.Add(string(info.Code), &openapi.Example{
			Summary: info.Description, Value: info.Example.Envelope("4bf92f35-77b3-4da6-a3ce-929d0e0e4736"),
		})
	}
	return all
}

// errorSchema returns the schema of an error. VALIDATION_ERROR has a schema of its
// details, too.
func errorSchema(code api.Code) *openapi.Schema {
	envelope := openapi.RefTo("ErrorEnvelope")
	if code != api.CodeValidation {
		return envelope
	}
	within := func(name string, schema *openapi.Schema) *openapi.Schema {
		return &openapi.Schema{
			Type: "object", Required: []string{name}, Properties: openapi.Members[*openapi.Schema]{{Name: name, Value: schema}},
		}
	}
	most, one := api.MaxProblems, 1
	details := within("problems", &openapi.Schema{Type: "array", Items: openapi.RefTo("Problem"), MaxItems: &most})
	details.Properties.Add("omitted", &openapi.Schema{
		Type: "integer", Minimum: &one, Description: "How many further problems there are; absent where all are listed.",
	})
	return &openapi.Schema{AllOf: []*openapi.Schema{envelope, within("error", within("details", details))}}
}

// responseName returns the component name of a status.
func responseName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}
