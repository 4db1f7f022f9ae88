// Package client makes clients of the API, one file each, from the routes and the schemas of the OpenAPI document.
package client

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strings"
	"text/template"

	"pnyx/reference/openapi"
)

// Language is a programming language that there is a client for.
type Language string

// The languages.
const (
	TypeScript Language = "TypeScript"
	Python     Language = "Python"
	Go         Language = "Go"
)

// Languages lists all languages, in the order of documents.
func Languages() []Language { return []Language{TypeScript, Python, Go} }

// File returns the name of the client's file.
func (l Language) File() string {
	return map[Language]string{TypeScript: "pnyx.ts", Python: "pnyx.py", Go: "pnyx.go"}[l]
}

// Path returns where a node serves the client.
func (l Language) Path() string { return "/clients/" + l.File() }

func (l Language) extension() string { return path.Ext(l.File()) }

// templates are the programs, with what follows from the routes to be filled in.
//
//go:embed templates
var templates embed.FS

// Render fills in a template of a folder templates, which calls the functions.
func Render(files embed.FS, functions template.FuncMap, name string, data any) ([]byte, error) {
	parsed, err := template.New(name).Funcs(functions).ParseFS(files, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse template %s: %w", name, err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return text.Bytes(), nil
}

// Source returns the client of the API in a language, of the node that the document describes: one file to copy.
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

func functions() template.FuncMap {
	return template.FuncMap{
		"comment": comment, "hanging": hanging,
		"tsDoc": tsDoc, "tsUnion": tsUnion, "tsPath": tsPath,
		"pyDoc": pyDoc, "pyComment": pyComment, "pyIsKeyword": pyIsKeyword, "pyText": pyText, "pySignature": pySignature, "pyParams": pyParams,
		"pyLiteral": pyLiteral, "pyPath": pyPath,
		"goDoc": goDoc, "goArg": goArgument, "goValue": goValue,
	}
}

func (c call) pathWith(place func(field) string) string {
	path := c.Path
	for _, p := range c.Args {
		path = strings.Replace(path, ":"+p.JSON, place(p), 1)
	}
	return path
}
