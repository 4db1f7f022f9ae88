package config

import (
	"net/url"
	"slices"
	"strings"
)

// Purge configures the caches in front of the API that the worker purges.
type Purge struct {
	Kind  string     `env:"PNYX_PURGE_KIND" unit:"fastly|cloudflare|varnish" doc:"Kind of the caches in front that the worker purges after a publication; empty: none, and answers are cached for two seconds at most. Set it for API and worker alike."`
	URLs  SecretURLs `env:"PNYX_PURGE_URL" unit:"address[,address]" doc:"Where the worker sends purges: https://api.fastly.com/service/ID/purge, https://api.cloudflare.com/client/v4/zones/ID/purge_cache, or each Varnish."`
	Token Secret     `env:"PNYX_PURGE_TOKEN" unit:"token" doc:"Token that authorizes purges at Fastly or Cloudflare; Varnish checks addresses instead."`
}

// SecretURLs are URLs, separated by commas, that are masked like a SecretURL.
type SecretURLs string

// All returns the URLs with their passwords.
func (u SecretURLs) All() []string { return Secret(u).All() }

// String returns the URLs with their passwords masked.
func (u SecretURLs) String() string {
	masked := u.All()
	for i, address := range masked {
		masked[i] = SecretURL(address).String()
	}
	return strings.Join(masked, ",")
}

// MarshalText is String, for log handlers and JSON.
func (u SecretURLs) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

func areURLs(text string) bool {
	return !slices.ContainsFunc(SecretURLs(text).All(), func(address string) bool {
		return !SecretURL(address).startsWith([]string{"http://", "https://"})
	})
}

// isPlainURL reports whether an http or https URL is well-formed, without user, password and parameters.
func isPlainURL(text string) bool {
	return SecretURL(text).startsWith([]string{"http://", "https://"}) && !strings.ContainsAny(text, "?@")
}

// Secret is a token, or tokens or name=value pairs joined by commas. It is never printed.
type Secret string

// String returns the mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// MarshalText is String, for log handlers and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// All returns the tokens in plain text.
func (s Secret) All() []string {
	if s == "" {
		return nil
	}
	return strings.Split(string(s), ",")
}

// Map returns the values of pairs by name, which are escaped as in a URL.
func (s Secret) Map() map[string]string {
	values := map[string]string{}
	for _, pair := range s.All() {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		values[name], _ = url.PathUnescape(value) // validated
	}
	return values
}
