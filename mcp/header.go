package mcp

import (
	"encoding/base64"
	"strings"
)

// Headers of the protocol: with them those who pass a request on need not read its body.
const (
	// HeaderVersion is the revision that the request speaks.
	HeaderVersion = "MCP-Protocol-Version"
	// HeaderMethod is the method of the message.
	HeaderMethod = "Mcp-Method"
	// HeaderName is what the message is about; see NameOf and EncodeHeader.
	HeaderName = "Mcp-Name"
)

// NameOf returns what a message with a method is about, among the parameters name and uri.
// It reports false for a method that is about nothing.
func NameOf(method, name, uri string) (about string, named bool) {
	switch method {
	case "tools/call", "prompts/get":
		return name, true
	case "resources/read":
		return uri, true
	}
	return "", false
}

// What is around the base64 of a text that a header cannot hold as it is.
const (
	base64Begin = "=?base64?"
	base64End   = "?="
)

// EncodeHeader returns a text as the value of a header: in base64 where it would not arrive
// as it is, or looks like base64 already.
func EncodeHeader(text string) string {
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) &&
		strings.TrimSpace(text) == text && !strings.HasPrefix(text, base64Begin)
	if plain {
		return text
	}
	return base64Begin + base64.StdEncoding.EncodeToString([]byte(text)) + base64End
}

func decodeHeader(value string) string {
	inner, is := strings.CutPrefix(value, base64Begin)
	inner, ends := strings.CutSuffix(inner, base64End)
	if !is || !ends {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return value
	}
	return string(text)
}
