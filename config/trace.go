package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Pairs are names with values, joined by commas; values are escaped as in a URL. They
// may hold credentials, and are never printed.
type Pairs string

// String is the mask.
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

func (p Pairs) acceptable() bool {
	form := regexp.MustCompile(`^\s*[\w.-]+=([^,%\s]|%[0-9A-Fa-f]{2})+\s*$`)
	for pair := range strings.SplitSeq(string(p), ",") {
		if p != "" && !form.MatchString(pair) {
			return false
		}
	}
	return true
}

// Ratio is a share, 0 to 1.
type Ratio string

// Share is the number.
func (r Ratio) Share() float64 {
	share, _ := strconv.ParseFloat(string(r), 64) // validated
	return share
}

func (r Ratio) acceptable() bool {
	return regexp.MustCompile(`^(0|1|[01]\.0+|0?\.\d+)$`).MatchString(string(r))
}
