package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Pairs are name=value pairs, separated by commas, with values escaped as in a URL. They
// may contain credentials, and are never printed.
type Pairs string

// String returns the mask.
func (p Pairs) String() string {
	if p == "" {
		return ""
	}
	return mask
}

// MarshalText is String, for log handlers and JSON.
func (p Pairs) MarshalText() ([]byte, error) {
	return []byte(p.String()), nil
}

// Map returns the values by name.
func (p Pairs) Map() map[string]string {
	values := map[string]string{}
	for pair := range strings.SplitSeq(string(p), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if plain, err := url.PathUnescape(value); found && err == nil { // validated
			values[name] = plain
		}
	}
	return values
}

// Validate reports whether every pair is well-formed.
func (p Pairs) Validate() bool {
	form := regexp.MustCompile(`^\s*[\w.-]+=([^,%\s]|%[0-9A-Fa-f]{2})+\s*$`)
	for pair := range strings.SplitSeq(string(p), ",") {
		if p != "" && !form.MatchString(pair) {
			return false
		}
	}
	return true
}

// Ratio is a decimal number from 0 to 1, as text.
type Ratio string

// Share returns the number.
func (r Ratio) Share() float64 {
	share, _ := strconv.ParseFloat(string(r), 64) // validated
	return share
}

// Validate reports whether the text is a number from 0 to 1.
func (r Ratio) Validate() bool {
	return regexp.MustCompile(`^(0|1|[01]\.0+|0?\.\d+)$`).MatchString(string(r))
}
