// Package openapitest checks answers against the OpenAPI document that describes them.
// New reads a document, and Contract.Check checks an answer.
package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pnyx/test/check"
)

// address is the base URI of the document; nothing is fetched from it.
const address = "mem:///openapi.json"

// Contract checks answers against one document. It is safe for concurrent use.
type Contract struct {
	document struct {
		// Paths are the operations by path and method in lower case.
		Paths map[string]map[string]struct{ Responses map[string]response }
		// Components are the parts that references refer to.
		Components struct{ Responses map[string]response }
	}
	compiler *jsonschema.Compiler

	mu       sync.Mutex // guards the compiler, and schemas
	compiled map[string]*jsonschema.Schema
}

type response struct {
	// Ref is the reference to a shared response; empty for a response in place.
	Ref string `json:"$ref"`
	// Headers are the promised headers by name; nil for none.
	Headers map[string]any
}

// New reads a document.
func New(tb testing.TB, document []byte) *Contract {
	tb.Helper()
	c := &Contract{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	check.MustDo(tb, json.Unmarshal(document, &c.document))
	parsed := check.Must(jsonschema.UnmarshalJSON(bytes.NewReader(document)))(tb)
	closeObjects(parsed)
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	check.MustDo(tb, c.compiler.AddResource(address, parsed))
	return c
}

// closeObjects lets described objects have no other members: callers have to accept new ones, tests do not.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		_, described := node["properties"].(map[string]any)
		if _, whole := node["description"].(string); described && whole {
			node["additionalProperties"] = false
		}
		for _, value := range node {
			closeObjects(value)
		}
	case []any:
		for _, value := range node {
			closeObjects(value)
		}
	}
}

// Check returns an error when an answer to GET differs from the description of the path, with {parameters}.
func (c *Contract) Check(path string, status int, header http.Header, body []byte) error {
	answer, pointer, err := c.promised(path, status)
	if err != nil {
		return err
	}
	for name := range header {
		isName := func(promised string) bool { return strings.EqualFold(promised, name) }
		// What is left of a limit matters to who got data; who was refused is told when to ask again.
		limited := name == "Ratelimit" && status == http.StatusOK
		if (limited || name == "Link" || name == "Retry-After") && !slices.ContainsFunc(slices.Collect(maps.Keys(answer.Headers)), isName) {
			return fmt.Errorf("%s %d: no header %s is promised", path, status, name)
		}
	}
	return c.validate(fmt.Sprintf("%s %d", path, status), pointer, body)
}

// CheckMessage returns an error when the body of a message differs from its webhook's description.
func (c *Contract) CheckMessage(webhook string, body []byte) error {
	return c.validate(webhook, "#/webhooks/"+webhook+"/post/requestBody", body)
}

// validate holds a body against the JSON that the object at a pointer describes.
func (c *Contract) validate(what, pointer string, body []byte) error {
	schema, err := c.schema(pointer + "/content/application~1json/schema")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w in %s", what, err, body)
	}
	if err := schema.Validate(value); err != nil {
		// The first line names the schema, which the caller does as well.
		_, problems, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: %s in %s", what, problems, body)
	}
	return nil
}

// promised returns the described response to a status, and its JSON pointer.
func (c *Contract) promised(path string, status int) (response, string, error) {
	get, known := c.document.Paths[path]["get"]
	if !known {
		return response{}, "", fmt.Errorf("%s is not in the document", path)
	}
	code := strconv.Itoa(status)
	answer, known := get.Responses[code]
	if !known && status >= http.StatusBadRequest {
		code = "default"
		answer, known = get.Responses[code]
	}
	if !known {
		return response{}, "", fmt.Errorf("%s: status %d is not promised", path, status)
	}
	if name, is := strings.CutPrefix(answer.Ref, "#/components/responses/"); is {
		return c.document.Components.Responses[name], "#/components/responses/" + name, nil
	}
	return answer, "#/paths/" + escaped(path) + "/get/responses/" + code, nil
}

// escaped escapes a name for a JSON pointer in a URI.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

func (c *Contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema := c.compiled[pointer]; schema != nil {
		return schema, nil
	}
	schema, err := c.compiler.Compile(address + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile the schema at %s: %w", pointer, err)
	}
	c.compiled[pointer] = schema
	return schema, nil
}
