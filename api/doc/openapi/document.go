// Package openapi makes OpenAPI 3.1 documents: Document and its parts are Go values that
// encode to one, and Schemas makes JSON Schemas of Go types. Objects keep the order in
// which they are built, so the same input gives the same bytes.
package openapi

// Version is the version of OpenAPI that documents are written in.
const Version = "3.1.0"

// Document is an OpenAPI document.
type Document struct {
	OpenAPI    string             `json:"openapi"`
	Info       Info               `json:"info"`
	Servers    []Server           `json:"servers"`
	Tags       []Tag              `json:"tags"`
	Paths      Members[*PathItem] `json:"paths"`
	Components Components         `json:"components"`
}

// Info is what the document is about.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Summary     string  `json:"summary,omitempty"`
	Description string  `json:"description,omitempty"`
	License     License `json:"license"`
}

// License is what the described service is licensed under.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// Server is where the paths are found.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Tag groups operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// PathItem is what can be done at a path.
type PathItem struct {
	Get *Operation `json:"get,omitempty"`
}

// Operation is one request that can be made. The fields that begin with X are
// extensions.
type Operation struct {
	OperationID string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Summary     string                `json:"summary"`
	Description string                `json:"description,omitempty"`
	Parameters  []*Parameter          `json:"parameters,omitempty"`
	Responses   Members[*Response]    `json:"responses"`
	Security    []map[string][]string `json:"security"`
	XTier       string                `json:"x-tier"`
	XBucket     string                `json:"x-bucket"`
	XPrice      *Price                `json:"x-price,omitempty"`
	XAddition   bool                  `json:"x-addition,omitempty"`
}

// Price is what one request costs.
type Price struct {
	Amount  string `json:"amount"`
	Token   string `json:"token"`
	Network string `json:"network"`
}

// Parameter is one parameter of an operation.
type Parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required,omitempty"`
	Description string  `json:"description"`
	Style       string  `json:"style,omitempty"`
	Explode     *bool   `json:"explode,omitempty"`
	Schema      *Schema `json:"schema"`
	Example     any     `json:"example,omitempty"`
	XAddition   bool    `json:"x-addition,omitempty"`
}

// Response is one answer to an operation, or a reference to it.
type Response struct {
	Ref         string              `json:"$ref,omitempty"`
	Description string              `json:"description,omitempty"`
	Headers     Members[*Header]    `json:"headers,omitempty"`
	Content     Members[*MediaType] `json:"content,omitempty"`
}

// Header is a header of an answer, or a reference to it.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     any     `json:"example,omitempty"`
	XAddition   bool    `json:"x-addition,omitempty"`
}

// MediaType is the content of an answer in one form.
type MediaType struct {
	Schema   *Schema           `json:"schema"`
	Example  any               `json:"example,omitempty"`
	Examples Members[*Example] `json:"examples,omitempty"`
}

// Example is one of several examples.
type Example struct {
	Summary string `json:"summary,omitempty"`
	Value   any    `json:"value"`
}

// Components are the parts that others refer to.
type Components struct {
	Schemas         Members[*Schema]         `json:"schemas"`
	Responses       Members[*Response]       `json:"responses"`
	Headers         Members[*Header]         `json:"headers"`
	SecuritySchemes Members[*SecurityScheme] `json:"securitySchemes"`
}

// SecurityScheme is a way to be let in.
type SecurityScheme struct {
	Type        string `json:"type"`
	In          string `json:"in"`
	Name        string `json:"name"`
	Description string `json:"description"`
}
