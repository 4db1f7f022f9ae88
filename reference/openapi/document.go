// Package openapi makes OpenAPI 3.1 documents: Document is a Go value that encodes to one, Schemas makes JSON Schemas
// of Go types. Objects keep their order: the same input gives the same bytes.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Version is the version of OpenAPI that documents are written in.
const Version = "3.1.0"

// Document is an OpenAPI document. The fields of the types below are members of OpenAPI 3.1.
type Document struct {
	OpenAPI    string             `json:"openapi"`
	Info       Info               `json:"info"`
	Servers    []Server           `json:"servers"`
	Tags       []Tag              `json:"tags"`
	Paths      Members[*PathItem] `json:"paths"`
	Webhooks   Members[*PathItem] `json:"webhooks,omitempty"`
	Components Components         `json:"components"`
}

// Info describes the API.
type Info struct {
	Title       string       `json:"title"`
	Version     string       `json:"version"`
	Summary     string       `json:"summary,omitempty"`
	Description string       `json:"description,omitempty"`
	License     Members[any] `json:"license"`
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

// PathItem describes the operations on a path, or a webhook.
type PathItem struct {
	Get  *Operation `json:"get,omitempty"`
	Post *Operation `json:"post,omitempty"`
}

// Operation describes a method of a path. Fields that begin with X are extensions.
type Operation struct {
	OperationID string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Summary     string                `json:"summary"`
	Description string                `json:"description,omitempty"`
	Parameters  []*Parameter          `json:"parameters,omitempty"`
	RequestBody Members[any]          `json:"requestBody,omitempty"`
	Responses   Members[*Response]    `json:"responses"`
	Security    []map[string][]string `json:"security"`
	// XTier is the tier of the route; empty for a webhook.
	XTier string `json:"x-tier,omitempty"`
	// XBucket is the name of the bucket that counts the requests; empty for none.
	XBucket string `json:"x-bucket,omitempty"`
	// XPrice is the price of one request, in whole tokens; nil for none.
	XPrice Members[any] `json:"x-price,omitempty"`
	// XPaymentInfo is the price of one request for directories of paid APIs; nil for none.
	XPaymentInfo Members[any] `json:"x-payment-info,omitempty"`
	// XAddition marks an operation that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
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
	// XAddition marks a parameter that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
}

// Response describes a response, or refers to a description.
type Response struct {
	Ref         string              `json:"$ref,omitempty"`
	Description string              `json:"description,omitempty"`
	Headers     Members[*Header]    `json:"headers,omitempty"`
	Content     Members[*MediaType] `json:"content,omitempty"`
	Links       Members[any]        `json:"links,omitempty"`
}

// Header describes a header of a response, or refers to a description.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     any     `json:"example,omitempty"`
	// XAddition marks a header that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
}

// MediaType describes the body of a response.
type MediaType struct {
	Schema   *Schema      `json:"schema"`
	Example  any          `json:"example,omitempty"`
	Examples Members[any] `json:"examples,omitempty"`
}

// Components are the parts that references refer to.
type Components struct {
	Schemas         Members[*Schema]   `json:"schemas"`
	Responses       Members[*Response] `json:"responses"`
	Headers         Members[*Header]   `json:"headers"`
	SecuritySchemes Members[any]       `json:"securitySchemes"`
}

// PathTemplate returns a route's path, such as /v2/daos/:daoId, with its parameters in braces.
func PathTemplate(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// Member is one member of a JSON object.
type Member[T any] struct {
	Name string
	// Value is what JSON shows under the name.
	Value T
}

// Members is a JSON object that keeps the order in which its members were added.
type Members[T any] []Member[T]

// Object returns an object of names, each with the value after it.
func Object(namesAndValues ...any) (object Members[any]) {
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		name, _ := namesAndValues[i].(string)
		object.Add(name, namesAndValues[i+1])
	}
	return object
}

// Add appends a member.
func (m *Members[T]) Add(name string, value T) {
	*m = append(*m, Member[T]{Name: name, Value: value})
}

// Get returns the member with a name, if there is one.
func (m Members[T]) Get(name string) (value T, found bool) {
	for _, member := range m {
		if member.Name == name {
			return member.Value, true
		}
	}
	return value, false
}

// MarshalJSON implements json.Marshaler.
func (m Members[T]) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := encode(&text, member.Name); err != nil {
			return nil, err
		}
		text.WriteByte(':')
		if err := encode(&text, member.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// encode appends the JSON of a value. <, > and & are not escaped, for human readers.
func encode(text *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1)
	return nil
}
