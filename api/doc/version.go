package doc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// ErrSameVersion is a surface that changed while its version did not.
var ErrSameVersion = errors.New("the surface has changed: raise api.SurfaceVersion")

// CheckVersion compares two OpenAPI documents. Texts and prices may change at any
// time; what a program could rely on only under another version.
func CheckVersion(before, after []byte) error {
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
		return fmt.Errorf("read an OpenAPI document: %w", err)
	}
	if !reflect.DeepEqual(versionOf(was), versionOf(is)) {
		return nil
	}
	if !reflect.DeepEqual(surface(was), surface(is)) {
		return ErrSameVersion
	}
	return nil
}

func versionOf(document map[string]any) any {
	info, _ := document["info"].(map[string]any)
	return info["version"]
}

// surface is a document without what is only said: descriptions, examples, prices.
// Below "properties" such names are fields.
func surface(node any) any {
	switch node := node.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range node {
			switch name {
			case "description", "summary", "example", "examples", "x-price", "tags":
			case "properties":
				kept[name] = properties(value)
			default:
				kept[name] = surface(value)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(node))
		for i, value := range node {
			kept[i] = surface(value)
		}
		return kept
	}
	return node
}

func properties(node any) any {
	fields, _ := node.(map[string]any)
	kept := map[string]any{}
	for name, value := range fields {
		kept[name] = surface(value)
	}
	return kept
}
