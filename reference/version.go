package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// ErrSameVersion says that the surface changed and its version did not.
var ErrSameVersion = errors.New("the surface has changed: raise api.SurfaceVersion")

// CheckVersion returns ErrSameVersion when two OpenAPI documents of the same version differ in what a program may
// rely on. Descriptions, examples and prices may differ.
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

// surface returns a document without descriptions, examples and prices. In "properties", members are fields.
func surface(node any) any {
	switch node := node.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range node {
			switch name {
			case "description", "summary", "example", "examples", "x-price", "x-addition", "tags":
			case "properties":
				fields, _ := value.(map[string]any)
				all := map[string]any{}
				for field, schema := range fields {
					all[field] = surface(schema)
				}
				kept[name] = all
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
