// Package openapi makes OpenAPI 3.1 documents: Document and its parts are Go values that
// encode to one, and Schemas makes JSON Schemas of Go types. Objects keep the order in
// which they are built, so the same input gives the same bytes.
package openapi

// Version is the version of OpenAPI that documents are written in.
const Version = "3.1.0"

// Document is an OpenAPI document. The fields of the types below are the members that
// the OpenAPI Specification 3.1 defines under the same names.
type Document struct {
	// OpenAPI is the version of OpenAPI that the document is written in.
	OpenAPI string `json:"openapi"`
	// Info describes the API.
	Info Info `json:"info"`
	// Servers are the base addresses of the paths.
	Servers []Server `json:"servers"`
	// Tags are the groups of operations, in the order of their display.
	Tags []Tag `json:"tags"`
	// Paths are the paths of the API, with parameters in braces.
	Paths Members[*PathItem] `json:"paths"`
	// Webhooks are the requests that the API sends, by name; empty for none.
	Webhooks Members[*PathItem] `json:"webhooks,omitempty"`
	// Components are the parts that references refer to.
	Components Components `json:"components"`
}

// Info describes the API.
type Info struct {
	// Title is the name of the API.
	Title string `json:"title"`
	// Version is the version of the API, not of OpenAPI.
	Version string `json:"version"`
	// Summary is one sentence about the API; empty for none.
	Summary string `json:"summary,omitempty"`
	// Description is the guide to the API, as Markdown; empty for none.
	Description string `json:"description,omitempty"`
	// License is the license of the API, by name and SPDX identifier.
	License Members[any] `json:"license"`
}

// Server is a base address of the paths.
type Server struct {
	// URL is the base address; a relative one is resolved against the address of the
	// document.
	URL string `json:"url"`
	// Description is which server it is; empty for none.
	Description string `json:"description,omitempty"`
}

// Tag groups operations.
type Tag struct {
	// Name is what operations refer to the tag by.
	Name string `json:"name"`
	// Description is what the operations are about; empty for none.
	Description string `json:"description,omitempty"`
}

// PathItem describes the operations on a path, or a webhook.
type PathItem struct {
	// Get is the operation for GET; nil for none.
	Get *Operation `json:"get,omitempty"`
	// Post is the operation for POST; nil for none.
	Post *Operation `json:"post,omitempty"`
}

// Operation describes a method of a path. Fields that begin with X are extensions.
type Operation struct {
	// OperationID is unique in the document.
	OperationID string `json:"operationId"`
	// Tags are the names of the tags that group the operation.
	Tags []string `json:"tags"`
	// Summary names the operation in menus and in generated code.
	Summary string `json:"summary"`
	// Description says what an answer is, who may call the operation and which limits
	// apply, as Markdown.
	Description string `json:"description,omitempty"`
	// Parameters are those in the path, the query and the headers; empty for none.
	Parameters []*Parameter `json:"parameters,omitempty"`
	// RequestBody is the body of the request; nil for none.
	RequestBody Members[any] `json:"requestBody,omitempty"`
	// Responses are the possible responses by status.
	Responses Members[*Response] `json:"responses"`
	// Security lists alternative credentials, each a map from schemes to scopes;
	// empty for none needed.
	Security []map[string][]string `json:"security"`
	// XTier is the tier of the route; empty for a webhook.
	XTier string `json:"x-tier,omitempty"`
	// XBucket is the name of the bucket that counts the requests; empty for none.
	XBucket string `json:"x-bucket,omitempty"`
	// XPrice is the price of one request, in whole tokens; nil for none.
	XPrice Members[any] `json:"x-price,omitempty"`
	// XPaymentInfo is the price of one request as directories of paid APIs read it; nil
	// where payments are not taken.
	XPaymentInfo Members[any] `json:"x-payment-info,omitempty"`
	// XAddition marks an operation that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
}

// Parameter is one parameter of an operation.
type Parameter struct {
	// Name is the name in the path or the query, or of the header.
	Name string `json:"name"`
	// In is the location of the parameter: "path", "query" or "header".
	In string `json:"in"`
	// Required parameters have to be given; those in a path always are.
	Required bool `json:"required,omitempty"`
	// Description is what the parameter means and what is allowed, as Markdown.
	Description string `json:"description"`
	// Style is how a list is written; empty for the default of OpenAPI.
	Style string `json:"style,omitempty"`
	// Explode says whether a list repeats the parameter rather than join its
	// elements; nil for the default of the style.
	Explode *bool `json:"explode,omitempty"`
	// Schema is what a value may be.
	Schema *Schema `json:"schema"`
	// Example is a value in the type of the schema; nil for none.
	Example any `json:"example,omitempty"`
	// XAddition marks a parameter that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
}

// Response describes a response, or refers to a description.
type Response struct {
	// Ref is the reference to a description; empty for a description in place.
	Ref string `json:"$ref,omitempty"`
	// Description is when the response is given, as Markdown; empty for a reference.
	Description string `json:"description,omitempty"`
	// Headers are the headers of the response by name; empty for none.
	Headers Members[*Header] `json:"headers,omitempty"`
	// Content is the body by media type; empty for no body.
	Content Members[*MediaType] `json:"content,omitempty"`
	// Links are the operations that can follow, by name; empty for none.
	Links Members[any] `json:"links,omitempty"`
}

// Header describes a header of a response, or refers to a description.
type Header struct {
	// Ref is the reference to a description; empty for a description in place.
	Ref string `json:"$ref,omitempty"`
	// Description is what the header means, as Markdown; empty for a reference.
	Description string `json:"description,omitempty"`
	// Schema is what a value may be; nil for a reference.
	Schema *Schema `json:"schema,omitempty"`
	// Example is a value in the type of the schema; nil for none.
	Example any `json:"example,omitempty"`
	// XAddition marks a header that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
}

// MediaType describes the body of a response.
type MediaType struct {
	// Schema is what the body may be.
	Schema *Schema `json:"schema"`
	// Example is one body; nil for none, or where Examples has several.
	Example any `json:"example,omitempty"`
	// Examples are several bodies by name; empty for none.
	Examples Members[any] `json:"examples,omitempty"`
}

// Components are the parts that references refer to.
type Components struct {
	// Schemas are the schemas of JSON values by name.
	Schemas Members[*Schema] `json:"schemas"`
	// Responses are the responses by name.
	Responses Members[*Response] `json:"responses"`
	// Headers are the headers of responses by name.
	Headers Members[*Header] `json:"headers"`
	// SecuritySchemes are the kinds of credentials by name.
	SecuritySchemes Members[any] `json:"securitySchemes"`
}
