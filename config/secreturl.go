package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// SecretURL is the address of a server, or hosts separated by commas, which may contain a password or, where it is
// no database, a key in the path or in place of the user. It is masked when printed, logged or encoded; only the
// conversion string(u) returns the secret.
type SecretURL string

const mask = "***"

// String returns the URL with its passwords and keys masked, or the mask alone when u is not well-formed, because
// the place of a password is unknown then.
func (u SecretURL) String() string {
	if u == "" {
		return ""
	}
	parsed, ok := u.parse()
	if !ok {
		return mask
	}
	database := publicPath.MatchString(parsed.Scheme)
	parsed.RawQuery = maskQuery(parsed.RawQuery, !database)
	path, user := "", ""
	if !database {
		if len(parsed.Path) > 1 {
			path, parsed.Path, parsed.RawPath = "/"+mask, "", ""
		}
		if password, _ := parsed.User.Password(); parsed.User != nil && password == "" {
			user, parsed.User = mask+"@", nil
		}
	}
	masked := strings.Replace(parsed.Redacted(), ":xxxxx@", ":"+mask+"@", 1)
	masked = strings.Replace(masked, "://", "://"+user, 1)
	address, query, has := strings.Cut(masked, "?")
	if has {
		query = "?" + query
	}
	return address + path + query
}

// MarshalText returns the masked URL, for log handlers and JSON.
func (u SecretURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// startsWith reports whether u is well-formed, begins with one of schemes, and names a host, or a file for unix.
func (u SecretURL) startsWith(schemes []string) bool {
	parsed, ok := u.parse()
	if !ok || !slices.Contains(schemes, parsed.Scheme+"://") {
		return false
	}
	for host := range strings.SplitSeq(parsed.Host, ",") {
		if regexp.MustCompile(`:\d+$`).MatchString(host) && !isAddress(host) { // a port beyond 65535
			return false
		}
	}
	switch parsed.Scheme {
	case "unix":
		return parsed.Host == "" && len(parsed.Path) > 1
	case "redis", "rediss": // Sentinels and Clusters have schemes of their own
		return parsed.Host != "" && !strings.Contains(parsed.Host, ",")
	}
	return parsed.Host != ""
}

// parse is url.Parse for several hosts, and stricter. It rejects an @ or # after the hosts, where the rest of a
// password that contains a / or ? is, and a port that is not a number, which indicates a missing @.
func (u SecretURL) parse() (*url.URL, bool) {
	const host = `(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:,\[\]]+)(?::\d{1,5})?`
	form := regexp.MustCompile(`^([\w+]+://(?:[^/?#]*@)?(?:` + host + `)?)((?:,` + host + `)*)((?:[/?][^#@]*)?)$`)
	parts := form.FindStringSubmatch(string(u))
	if parts == nil {
		return nil, false
	}
	parsed, err := url.Parse(parts[1] + parts[3])
	if err != nil {
		return nil, false
	}
	_, err = url.ParseQuery(parsed.RawQuery)
	parsed.Host += parts[2]
	return parsed, err == nil
}

// publicPath matches the schemes of databases, whose path is the name of one, and of
// sockets. Any other path may contain a key, and so may the user and each parameter.
var publicPath = regexp.MustCompile(`^(unix|tcp|clickhouse|rediss?(\+\w+)?)$`)

var secretName = regexp.MustCompile(`(?i)password|secret|token|key|auth`)

// maskQuery masks passwords, keys and nested URLs that name a user in a well-formed query, or else all values.
func maskQuery(query string, all bool) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		plain, _ := url.QueryUnescape(pair) // cannot fail: parse has checked the query
		name, value, _ := strings.Cut(plain, "=")
		if value != "" && all || secretName.MatchString(name) || strings.Contains(value, "@") {
			key, _, _ := strings.Cut(pair, "=")
			pairs[i] = key + "=" + mask
		}
	}
	return strings.Join(pairs, "&")
}
