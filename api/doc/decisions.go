package doc

import (
	"strings"

	"pnyx/api"
)

// enumRow is an enumeration of a parameter or of answers, as Markdown.
type enumRow struct {
	// Route is the id of the route, empty for answers. Name is the name of the
	// parameter or the schema. Values lists what is allowed. Default is empty for
	// none. Description comes from the schema, empty for parameters.
	Route, Name, Values, Default, Description string
}

// Decisions returns, as Markdown, how this implementation answers the questions that
// the contract leaves open, its error codes and its enumerations.
func Decisions() ([]byte, error) {
	schemas, err := newSchemas()
	if err != nil {
		return nil, err
	}
	data := struct {
		// Codes are the error codes of the API.
		Codes []api.CodeInfo
		// Parameters and Answers are the enumerations of each.
		Parameters, Answers []enumRow
	}{Codes: api.Codes()}
	for _, route := range api.Routes() {
		for _, param := range route.Params {
			if len(param.Enum) > 0 {
				row := enumRow{Route: route.ID, Name: param.Name, Values: quoted(param.Enum...)}
				if param.Default != "" {
					row.Default = quoted(param.Default)
				}
				data.Parameters = append(data.Parameters, row)
			}
		}
		envelopeSchema(schemas, route)
	}
	for _, component := range schemas.Components() {
		if enum := component.Value.Enum; len(enum) > 0 {
			data.Answers = append(data.Answers, enumRow{
				Name: component.Name, Values: quoted(enum...), Description: component.Value.Description,
			})
		}
	}
	return render("decisions.md", data)
}

// quoted lists values as Markdown code.
func quoted(values ...string) string {
	return "`" + strings.Join(values, "`, `") + "`"
}
