package config

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// RefusedError lists everything that is wrong with an environment.
type RefusedError []Problem

// Error lists the problems, one to a line.
func (e RefusedError) Error() string {
	var text strings.Builder
	text.WriteString("settings refused:")
	for _, p := range e {
		text.WriteString("\n  " + p.String())
	}
	return text.String()
}

// Problem is one setting that was rejected.
type Problem struct {
	Name string
	// Value is its value, masked if it is a secret; empty if the variable is unknown.
	Value  string
	Reason string
}

// String returns the problem in one line.
func (p Problem) String() string {
	if p.Value == "" {
		return p.Name + ": " + p.Reason
	}
	return fmt.Sprintf("%s=%q: %s", p.Name, p.Value, p.Reason)
}

// crossCheck is a rule about two settings that are each valid.
type crossCheck struct {
	setting, other any  // pointers to the fields
	fails          bool // says that the rule is broken
	// reason says what setting must be or do; the name of other follows it.
	reason string
}

// crossChecks returns the problems between two settings. valid holds, by pointer, those valid by themselves.
func (c *Config) crossChecks(valid map[any]field) []Problem {
	api, store, cache, worker, purge, payment := &c.API, &c.Warehouse, &c.Cache, &c.Worker, &c.Purge, &c.Payment
	pairs := []crossCheck{
		{&api.AdminListen, &api.Listen, overlap(api.AdminListen, api.Listen), "must not share a port with"},
		{&c.Edge.AdminListen, &c.Edge.Listen, overlap(c.Edge.AdminListen, c.Edge.Listen), "must not share a port with"},
		{&store.Cluster, &store.URL, store.Cluster != "" && store.URL == "", "needs a server in"},
		{&c.SQL.Listen, &api.Listen, overlap(c.SQL.Listen, api.Listen), "must not share a port with"},
		{&c.SQL.Listen, &api.AdminListen, overlap(c.SQL.Listen, api.AdminListen), "must not share a port with"},
		{&cache.Timeout, &api.RequestTimeout, cache.Timeout >= api.RequestTimeout, "must stay below"},
		{&c.Access.LimitTimeout, &api.RequestTimeout, c.Access.LimitTimeout >= api.RequestTimeout, "must stay below"},
		{&worker.StaleAfter, &worker.PublishInterval, worker.StaleAfter <= worker.PublishInterval, "must exceed"},
		{&worker.StaleAfter, &worker.LeaseTTL, worker.StaleAfter <= worker.LeaseTTL, "must exceed"},
		{&purge.URLs, &purge.Kind, purge.URLs != "" && purge.Kind == "", "needs a kind of cache in"},
		{&purge.Token, &purge.URLs, purge.Token != "" && purge.URLs == "", "needs an address in"},
		{&payment.PayTo, &payment.FacilitatorURL, payment.PayTo != "" && payment.FacilitatorURL == "", "needs a facilitator in"},
		{&payment.PayTo, &api.PublicURL, payment.PayTo != "" && api.PublicURL == "", "needs an address of the service in"},
	}
	var problems []Problem
	for _, pair := range pairs {
		setting, ok := valid[pair.setting]
		other, both := valid[pair.other]
		if pair.fails && ok && both {
			reason := fmt.Sprintf("%s %s=%s", pair.reason, other.Name, other.text())
			problems = append(problems, Problem{setting.Name, setting.text(), reason})
		}
	}
	return problems
}

// overlap reports whether two listeners would use the same port of an interface; port 0 is any free one.
func overlap(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a) // both are validated
	hostB, portB, _ := net.SplitHostPort(b)
	if portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || isEverywhere(hostA) || isEverywhere(hostB)
}

func isEverywhere(host string) bool { return host == "" || net.ParseIP(host).IsUnspecified() }

// unknown returns a problem for each variable that looks like a setting and is none, without its value.
func unknown(environ map[string]string) []Problem {
	var known []string
	for _, s := range Settings() {
		known = append(known, s.Name)
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		ours := strings.HasPrefix(name, "PNYX_") || strings.HasPrefix(name, "X402_")
		if !ours || slices.Contains(known, name) || isForeign(name, environ[name]) {
			continue
		}
		nearest := slices.MinFunc(known, func(a, b string) int { return unlike(name, a) - unlike(name, b) })
		problems = append(problems, Problem{Name: name, Reason: "is not a setting; did you mean " + nearest + "?"})
	}
	return problems
}

// isForeign reports whether a PNYX_ variable is for tests, or is the address of a service named pnyx or pnyx-…,
// which Kubernetes puts into the pods of its namespace (PNYX_PORT=tcp://10.0.0.1:80).
func isForeign(name, value string) bool {
	serviceLink := regexp.MustCompile(
		`^PNYX_(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT=\w+://|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?=)`)
	return value == "" || strings.HasPrefix(name, "PNYX_TEST_") || serviceLink.MatchString(name+"="+value)
}

// unlike returns the edit distance of a name from a known one, 0 where only a prefix differs.
func unlike(name, known string) int {
	if strings.HasSuffix(name, known) {
		return 0
	}
	return levenshtein.ComputeDistance(name, known)
}
