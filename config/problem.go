package config

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
)

// RefusedError is everything that is wrong with an environment.
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

// Problem is one setting that was refused.
type Problem struct {
	Name   string // the environment variable
	Value  string // what it was given, masked if it is a secret; empty if the variable is unknown
	Reason string // what is allowed instead
}

// String is the problem in one line.
func (p Problem) String() string {
	if p.Value == "" {
		return p.Name + ": " + p.Reason
	}
	return fmt.Sprintf("%s=%q: %s", p.Name, p.Value, p.Reason)
}

// contradiction is two settings that are possible each, but perhaps not together.
type contradiction struct {
	setting, other any // pointers to their fields
	holds          bool
	reason         string // what setting must be or do; other follows
}

// contradictions returns the problems between two settings of which sound, by
// pointer, says that each is right in itself.
func (c *Config) contradictions(sound map[any]field) []Problem {
	api, store, cache, worker, purge, payment := &c.API, &c.Warehouse, &c.Cache, &c.Worker, &c.Purge, &c.Payment
	pairs := []contradiction{
		{&api.AdminListen, &api.Listen, overlap(api.AdminListen, api.Listen), "must not share a port with"},
		{&c.Edge.AdminListen, &c.Edge.Listen, overlap(c.Edge.AdminListen, c.Edge.Listen), "must not share a port with"},
		{&store.Cluster, &store.URL, store.Cluster != "" && store.URL == "", "needs a server in"},
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
		setting, ok := sound[pair.setting]
		other, both := sound[pair.other]
		if pair.holds && ok && both {
			reason := fmt.Sprintf("%s %s=%s", pair.reason, other.Name, other.text())
			problems = append(problems, Problem{setting.Name, setting.text(), reason})
		}
	}
	return problems
}

// overlap reports whether two listeners would ask for the same port of the same
// interface. Port 0 is a different port each time.
func overlap(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a) // judged only where both are addresses
	hostB, portB, _ := net.SplitHostPort(b)
	if portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || isEverywhere(hostA) || isEverywhere(hostB)
}

func isEverywhere(host string) bool {
	return host == "" || net.ParseIP(host).IsUnspecified()
}

// unknown refuses the variables that look like settings and are none: most are
// misspelt. Their values are not shown, for nobody knows what they hold.
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

// isForeign reports whether a PNYX_ variable is somebody else's. PNYX_TEST_ is
// for tests and scripts, and Kubernetes puts the address of every service
// named pnyx or pnyx-… into every pod beside it (PNYX_PORT=tcp://10.0.0.1:80).
func isForeign(name, value string) bool {
	serviceLink := regexp.MustCompile(
		`^PNYX_(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT=\w+://|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?=)`)
	return value == "" || strings.HasPrefix(name, "PNYX_TEST_") || serviceLink.MatchString(name+"="+value)
}

// unlike is how far a name is from a known one: not at all where only a prefix is
// wrong.
func unlike(name, known string) int {
	if strings.HasSuffix(name, known) {
		return 0
	}
	return distance(name, known)
}

// distance is the number of characters to insert, delete or replace between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
