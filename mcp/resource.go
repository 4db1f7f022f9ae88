package mcp

import (
	"net/http"
	"slices"

	"pnyx/api"
	"pnyx/governance/rules"
)

// document is a text that clients may read as a resource.
type document struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
	render      func() ([]byte, error)
}

// resources returns what clients may read: the guide of the node's documents, and the rules of derived data.
func resources(documents []api.Document) []document {
	all := []document{{
		URI: "pnyx://rules", Name: "Rules", MIMEType: "text/markdown",
		Description: "The rules that events, signals, relevance and warnings come from.",
		render:      func() ([]byte, error) { return rules.Rulebook(), nil },
	}}
	for _, d := range documents {
		if d.Path == api.PathLLMs {
			all = append(all, document{
				URI: "pnyx://guide", Name: "Guide", MIMEType: "text/plain",
				Description: "The HTTP interface behind the tools, for language models.",
				render:      d.Render,
			})
		}
	}
	return all
}

func (s *Server) readResource(p params) (result, *rpcError) {
	at := slices.IndexFunc(s.documents, func(d document) bool { return d.URI == p.URI })
	if at < 0 {
		return nil, wrongParams("there is no resource " + quoted(p.URI))
	}
	d := s.documents[at]
	text, err := d.render()
	if err != nil {
		return nil, &rpcError{status: http.StatusOK, Code: CodeInternal, Message: "the document is not available"}
	}
	return result{"contents": []any{map[string]any{"uri": d.URI, "mimeType": d.MIMEType, "text": string(text)}}}, nil
}
