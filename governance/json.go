package governance

import (
	"bytes"
	"encoding/json"
)

// JSON returns a value as JSON in one line, without the escapes that HTML needs.
func JSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}
