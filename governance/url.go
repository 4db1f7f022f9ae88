package governance

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// trackingParameters, and all that begin with "utm_", say where a reader came from, not what is read.
var trackingParameters = map[string]bool{ //nolint:gochecknoglobals // a table
	"ref": true, "ref_src": true,
	"gclid": true, "gclsrc": true, "dclid": true, "wbraid": true, "gbraid": true, "_ga": true, "_gl": true,
	"fbclid": true, "msclkid": true, "yclid": true, "twclid": true, "igshid": true, "mc_cid": true, "mc_eid": true,
}

// CanonicalURL returns one spelling for all addresses of the same page: without
// scheme, "www.", trailing slashes, tracking parameters, and fragment (unless it is
// a route), with the host in lower case, with one way to escape, and with one form
// for the pages of proposals and forum topics that are known under several. What is
// not an address comes back as something; nothing fails.
func CanonicalURL(text string) string {
	a := parseAddress(text)
	if known := a.knownPage(); known != "" {
		return known
	}
	return a.String()
}

// address is a URL taken apart, as far as it says which page is meant.
type address struct {
	// scheme is empty for http and https.
	scheme string
	host   string
	route
	// hash is the route inside of the fragment; nil for none.
	hash *route
}

// route is a path in unescaped segments, and a query in escaped pairs.
type route struct {
	path  []string
	query []string
}

func parseAddress(text string) address {
	var a address
	text = strings.TrimSpace(text)
	if scheme, rest, found := strings.Cut(text, "://"); found && !strings.ContainsAny(scheme, "/?#") {
		a.scheme, text = strings.ToLower(scheme), rest
	}
	if a.scheme == "http" || a.scheme == "https" {
		a.scheme = ""
	}
	text, fragment, _ := strings.Cut(strings.TrimLeftFunc(text, isSlashOrSpace), "#")
	host := text
	if end := strings.IndexAny(text, "/?"); end >= 0 {
		host, text = text[:end], text[end:]
	} else {
		text = ""
	}
	a.host = canonicalHost(host)
	a.route = parseRoute(text)
	if fragment = strings.TrimPrefix(fragment, "!"); strings.HasPrefix(fragment, "/") {
		if hash := parseRoute(fragment); len(hash.path) > 0 {
			a.hash = &hash
		}
	}
	return a
}

func isSlashOrSpace(r rune) bool { return r == '/' || unicode.IsSpace(r) }

func canonicalHost(text string) string {
	text = strings.TrimSpace(strings.ToLower(text))
	host := text[strings.LastIndex(text, "@")+1:]
	for before := ""; host != before; {
		before = host
		host = strings.TrimPrefix(strings.TrimSpace(host), "www.")
		host = strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80")
		host = strings.TrimSuffix(host, ".")
	}
	if host == "" {
		return text
	}
	if strings.Contains(host, "xn--") { // an address shows the letters, or their code
		if letters, err := idna.ToUnicode(host); err == nil {
			return letters
		}
	}
	return host
}

func parseRoute(text string) route {
	path, query, _ := strings.Cut(text, "?")
	var r route
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" {
			r.path = append(r.path, unescaped(segment, url.PathUnescape))
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, valued := strings.Cut(pair, "=")
		name = unescaped(name, url.QueryUnescape)
		lower := strings.ToLower(name)
		if name == "" || strings.HasPrefix(lower, "utm_") || trackingParameters[lower] {
			continue
		}
		pair = url.QueryEscape(name)
		if valued {
			pair += "=" + url.QueryEscape(unescaped(value, url.QueryUnescape))
		}
		r.query = append(r.query, pair)
	}
	slices.Sort(r.query)
	return r
}

// unescaped returns a text as it is where its escapes make no sense.
func unescaped(text string, unescape func(string) (string, error)) string {
	plain, err := unescape(text)
	if err != nil {
		return text
	}
	return plain
}

// String returns the address in its one spelling.
func (a address) String() string {
	text := a.host + a.route.String()
	if a.hash != nil {
		text += "#" + a.hash.String()
	}
	if a.scheme != "" {
		text = a.scheme + "://" + text
	}
	return text
}

// String returns the route in its one spelling.
func (r route) String() string {
	var text strings.Builder
	for _, segment := range r.path {
		text.WriteString("/" + url.PathEscape(segment))
	}
	if len(r.query) > 0 {
		text.WriteString("?" + strings.Join(r.query, "&"))
	}
	return text.String()
}
