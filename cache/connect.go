package cache

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// endpoint returns a client of the Redis at a URL. Without ContextTimeoutEnabled a Redis that hangs
// would delay a request for seconds, whatever the deadline of its context.
type endpoint func() redis.UniversalClient

// CheckURL returns what is wrong with a Redis URL. It does not connect, and does not show the password.
func CheckURL(redisURL string) error {
	_, err := parseURL(redisURL, nil)
	return err
}

// NewClient returns a client for the Redis at a URL; see Open.
func NewClient(redisURL string) (redis.UniversalClient, error) {
	e, err := parseURL(redisURL, nil)
	if err != nil {
		return nil, err
	}
	return e(), nil
}

// Errors of Redis URLs. None quotes the URL: in a malformed one the password may be anywhere.
var (
	errMalformedURL = errors.New("is malformed: want redis://host:6379, rediss:// for TLS, unix:///path, " +
		"redis+sentinel://host:26379,host:26379?master=name or redis+cluster://host:6379,host:6379, with " +
		"user:password@ before the first host")
	errOneHost    = errors.New("names several hosts: use redis+cluster:// or redis+sentinel://")
	errNoMaster   = errors.New("needs ?master= with the name of the primary that the Sentinels monitor")
	errNoDatabase = errors.New("names a database: a Redis Cluster has only one")
)

// parseURL parses a Redis URL of any kind, whose parameters settings replace. go-redis has a
// parser for each kind, whose errors quote the URL and thus the password.
func parseURL(redisURL string, settings map[string]string) (endpoint, error) {
	u, hosts, err := splitURL(redisURL)
	if err != nil {
		return nil, err
	}
	scheme, kind, _ := strings.Cut(u.Scheme, "+")
	u.Scheme = scheme
	query := u.Query()
	if err := checkParameters(query, kind); err != nil {
		return nil, err
	}
	for name, value := range settings {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	switch {
	case scheme == "unix" && kind == "" && len(hosts) == 0:
		return parseServer(u)
	case scheme != "redis" && scheme != "rediss" || len(hosts) == 0:
		return nil, errMalformedURL
	}
	switch kind {
	case "":
		if len(hosts) > 1 {
			return nil, errOneHost
		}
		return parseServer(u)
	case "sentinel":
		return parseSentinels(u, hosts)
	case "cluster":
		return parseCluster(u, hosts)
	}
	return nil, errMalformedURL
}

// splitURL is url.Parse for several hosts. The returned URL has the first of them.
func splitURL(redisURL string) (u *url.URL, hosts []string, err error) {
	form := regexp.MustCompile(`^([a-z+]+://(?:[^/?#]*@)?)([^/?#@]*)((?:/[^?#]*)?(?:\?[^#]*)?)$`)
	parts := form.FindStringSubmatch(redisURL)
	if parts == nil {
		return nil, nil, errMalformedURL
	}
	if parts[2] != "" {
		hosts = strings.Split(parts[2], ",")
	}
	hostForm := regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)(:\d{1,5})?$`)
	for _, host := range hosts {
		if !hostForm.MatchString(host) {
			return nil, nil, errMalformedURL
		}
	}
	u, err = url.Parse(parts[1] + strings.Join(hosts[:min(len(hosts), 1)], "") + parts[3])
	if err == nil {
		_, err = url.ParseQuery(u.RawQuery)
	}
	if err != nil {
		return nil, nil, errMalformedURL
	}
	return u, hosts, nil
}

// parameters returns the accepted parameters of a kind of Redis. Parameters that would
// read from replicas or skip the verification of certificates are not accepted.
func parameters(kind string) []string {
	all := []string{
		"client_name", "conn_max_idle_time", "conn_max_lifetime", "dial_timeout", "max_active_conns", "max_idle_conns",
		"max_retries", "max_retry_backoff", "min_idle_conns", "min_retry_backoff", "pool_size", "pool_timeout",
		"read_timeout", "write_timeout",
	}
	switch kind {
	case "sentinel":
		all = append(all, "db", "master", "sentinel_username", "sentinel_password")
	case "":
		all = append(all, "db")
	}
	return all
}

// misplaced maps parameters that go-redis or users know to what to use instead.
func misplaced() map[string]string {
	const primaries = "is not possible: answers are read from primaries, because a replica lags behind"
	return map[string]string{
		"addr":             "is not possible: further hosts follow the first one, joined by commas",
		"master_name":      "is not possible: use redis+sentinel://host:26379,host:26379?master=",
		"master":           "is for redis+sentinel:// alone",
		"username":         "is not possible: user:password@ goes before the hosts",
		"password":         "is not possible: user:password@ goes before the hosts",
		"skip_verify":      "is not possible: certificates are verified; name an authority of your own in SSL_CERT_FILE",
		"read_only":        primaries,
		"replica_only":     primaries,
		"route_by_latency": primaries,
		"route_randomly":   primaries,
		"db":               errNoDatabase.Error(),
	}
}

// checkParameters quotes no unknown name, which may be the end of a password.
func checkParameters(query url.Values, kind string) error {
	known := parameters(kind)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if slices.Contains(known, name) {
			if len(query[name]) > 1 {
				return fmt.Errorf("has the parameter %s twice", name)
			}
			continue
		}
		if instead, asked := misplaced()[name]; asked {
			return fmt.Errorf("has the parameter %s, which %s", name, instead)
		}
		return fmt.Errorf("has an unknown parameter: want %s", strings.Join(known, ", "))
	}
	return nil
}

func parseServer(u *url.URL) (endpoint, error) {
	options, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, errValues
	}
	options.ContextTimeoutEnabled = true
	return func() redis.UniversalClient { return redis.NewClient(options) }, nil
}

// errValues replaces the errors of go-redis about values, which quote them.
var errValues = errors.New("has a malformed value: want a number as database, durations such as 500ms, and whole numbers")

// parseSentinels makes the form of go-redis, in which user and password belong to the Sentinels.
func parseSentinels(u *url.URL, hosts []string) (endpoint, error) {
	query := u.Query()
	if query.Get("master") == "" {
		return nil, errNoMaster
	}
	query.Set("master_name", query.Get("master"))
	user, password := query.Get("sentinel_username"), query.Get("sentinel_password")
	for _, name := range []string{"master", "sentinel_username", "sentinel_password"} {
		query.Del(name)
	}
	if u.User != nil {
		query.Set("username", u.User.Username())
		ofRedis, _ := u.User.Password()
		query.Set("password", ofRedis)
	}
	u.User = url.UserPassword(user, password)
	setHosts(u, query, hosts, "26379")
	options, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return nil, errValues
	}
	options.TLSConfig, options.ContextTimeoutEnabled = ownNames(options.TLSConfig), true
	return func() redis.UniversalClient { return redis.NewFailoverClient(options) }, nil
}

func parseCluster(u *url.URL, hosts []string) (endpoint, error) {
	if strings.Trim(u.Path, "/") != "" {
		return nil, errNoDatabase
	}
	setHosts(u, u.Query(), hosts, "6379")
	options, err := redis.ParseClusterURL(u.String())
	if err != nil {
		return nil, errValues
	}
	options.TLSConfig, options.ContextTimeoutEnabled = ownNames(options.TLSConfig), true
	return func() redis.UniversalClient { return redis.NewClusterClient(options) }, nil
}

// setHosts writes the hosts in the form of go-redis: the first as host, the others as parameters. port is the port
// of hosts that name none.
func setHosts(u *url.URL, query url.Values, hosts []string, port string) {
	for i, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			hosts[i] = host + ":" + port
		}
	}
	u.Host, query["addr"] = hosts[0], hosts[1:]
	u.RawQuery = query.Encode()
}

// ownNames makes TLS verify each server by its own name: go-redis verifies all by the name of the first host.
func ownNames(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}
