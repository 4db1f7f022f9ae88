// Package openapi makes OpenAPI 3.1 documents: Document and its parts are Go values that
// encode to one, and Schemas makes JSON Schemas of Go types. Objects keep the order in
// which they are built, so the same input gives the same bytes.
package openapi

// Version is the version of OpenAPI that documents are written in.
const Version = "3.1.0"

// Document is an OpenAPI document. The fields of the types below are the members that
// the OpenAPI Specification 3.1 defines under the same names.
type Document struct {
	OpenAPI    string             `json:"openapi"`
	Info       Info               `json:"info"`
	Servers    []Server           `json:"servers"`
	Tags       []Tag              `json:"tags"`
	Paths      Members[*PathItem] `json:"paths"`
	Components Components         `json:"components"`
}

// Info describes the API.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Summary     string  `json:"summary,omitempty"`
	Description string  `json:"description,omitempty"`
	License     License `json:"license"`
}

// License is the license of the API.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// Server is a base address of the paths.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Tag groups operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// PathItem describes the operations on a path.
type PathItem struct {
	Get *Operation `json:"get,omitempty"`
}

// Operation describes a method of a path. Fields that begin with X are extensions.
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

// Price is the extension x-price: the price of one request.
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

// Response describes a response, or refers to a description.
type Response struct {
	Ref         string              `json:"$ref,omitempty"`
	Description string              `json:"description,omitempty"`
	Headers     Members[*Header]    `json:"headers,omitempty"`
	Content     Members[*MediaType] `json:"content,omitempty"`
}

// Header describes a header of a response, or refers to a description.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     any     `json:"example,omitempty"`
	XAddition   bool    `json:"x-addition,omitempty"`
}

// MediaType describes the body of a response.
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

// Components are the parts that references refer to.
type Components struct {
	Schemas         Members[*Schema]         `json:"schemas"`
	Responses       Members[*Response]       `json:"responses"`
	Headers         Members[*Header]         `json:"headers"`
	SecuritySchemes Members[*SecurityScheme] `json:"securitySchemes"`
}

// SecurityScheme describes a kind of credentials.
type SecurityScheme struct {
	Type        string `json:"type"`
	In          string `json:"in"`
	Name        string `json:"name"`
	Description string `json:"description"`
}
