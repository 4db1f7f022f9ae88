package reference

import (
	"pnyx/api"
	"pnyx/reference/client"
)

// Client returns the client of the API in a language, in one file, as a node serves it.
func Client(node Node, language client.Language) ([]byte, error) {
	document, err := describeAPI(node)
	if err != nil {
		return nil, err
	}
	return client.Source(language, document)
}

func clients(node Node) []api.Document {
	var documents []api.Document
	for _, language := range client.Languages() {
		documents = append(documents, api.Document{
			Path: language.Path(), ContentType: mediaType(language) + "; charset=utf-8",
			Render: func() ([]byte, error) { return Client(node, language) },
		})
	}
	return documents
}

// mediaType returns the media type of source code in a language. Deno imports a client from
// its address if the type is TypeScript's.
func mediaType(language client.Language) string {
	return map[client.Language]string{
		client.TypeScript: "application/typescript", client.Python: "text/x-python", client.Go: "text/x-go",
	}[language]
}
