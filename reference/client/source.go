package client

import (
	"fmt"
	"go/format"
	"strings"
	"text/template"

	"pnyx/reference/openapi"
)

// Source returns the client of the API in a language: the file that a user copies. document
// describes the API as the node does that serves the file.
func Source(language Language, document *openapi.Document) ([]byte, error) {
	text, err := Render(templates, functions(), "pnyx"+language.extension()+".tmpl", newModel(language, document))
	if err != nil || language != Go {
		return text, err
	}
	if text, err = format.Source(text); err != nil {
		return nil, fmt.Errorf("format the client for Go: %w", err)
	}
	return text, nil
}

// functions are what the templates of the clients call.
func functions() template.FuncMap {
	return template.FuncMap{
		"comment": comment, "hanging": hanging,
		"tsDoc": tsDoc, "tsUnion": tsUnion, "tsPath": tsPath,
		"pyDoc": pyDoc, "pyComment": pyComment, "pyIsKeyword": pyIsKeyword, "pyText": pyText, "pySignature": pySignature, "pyParams": pyParams,
		"pyLiteral": pyLiteral, "pyPath": pyPath,
		"goDoc": goDoc, "goArg": goArgument, "goValue": goValue,
	}
}

func (c call) pathWith(place func(parameter) string) string {
	path := c.Path
	for _, p := range c.Args {
		path = strings.Replace(path, ":"+p.JSON, place(p), 1)
	}
	return path
}
