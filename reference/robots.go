package reference

import "pnyx/api"

// robots returns /robots.txt: documents and pages for people are for crawlers, data is not.
func robots() ([]byte, error) {
	return []byte("User-agent: *\nAllow: " + api.PathDocs + "\nAllow: " + api.PathExplore + "\nAllow: " + api.PathLLMs + "\nDisallow: " + api.PathPrefix + "/\n"), nil
}
