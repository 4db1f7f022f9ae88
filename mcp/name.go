package mcp

import (
	"bytes"
	"strings"
)

// nameProblem says why another parser may read a message differently; empty for a message
// that all parsers read alike. The last of several members with one name counts here, and
// names in another case are read as well.
func nameProblem(body []byte) string {
	message, problem := distinct(body, "jsonrpc", "id", "method", "params")
	params, inParams := distinct(message["params"], "protocolVersion", "name", "uri", "arguments", "_meta")
	_, inMeta := distinct(params["_meta"], metaVersion, metaCapabilities, metaPayment)
	_, inArguments := distinct(params["arguments"])
	for _, found := range []string{problem, inParams, inMeta, inArguments} {
		if found != "" {
			return found
		}
	}
	return ""
}

// distinct returns the members of an object, each of which has a name of its own. Known names
// are written exactly. A value that is no object has no members.
func distinct(object []byte, known ...string) (values map[string][]byte, problem string) {
	values = map[string][]byte{}
	if !bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		return values, ""
	}
	for name, value := range members(object) {
		if _, twice := values[name]; twice {
			return values, quoted(name) + " is given more than once"
		}
		for _, exact := range known {
			if name != exact && strings.EqualFold(name, exact) {
				return values, quoted(name) + " must be written " + quoted(exact)
			}
		}
		values[name] = value
	}
	return values, ""
}
