package config

import (
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Setting describes one environment variable.
type Setting struct {
	Group   string
	Name    string
	Default string
	// Unit is what the value counts, or the forms it may have.
	Unit   string
	Doc    string
	Secret bool // the value may contain a password
}

// Settings lists every setting, group by group, in the order of declaration.
func Settings() []Setting {
	var all []Setting
	for _, f := range fields(&Config{}) {
		all = append(all, f.Setting)
	}
	return all
}

type field struct {
	Setting
	value reflect.Value
}

type group struct {
	name  string
	value reflect.Value
}

func groups(c *Config) []group {
	var all []group
	for member, value := range reflect.ValueOf(c).Elem().Fields() {
		if member.IsExported() {
			all = append(all, group{member.Name, value})
		}
	}
	return all
}

// fields returns every setting of c, group by group, in order of declaration.
func fields(c *Config) []field {
	// The values of these types are masked when printed.
	secrets := []reflect.Type{reflect.TypeFor[SecretURL](), reflect.TypeFor[SecretURLs](), reflect.TypeFor[Secret]()}
	var all []field
	for _, group := range groups(c) {
		for member, value := range group.value.Fields() {
			all = append(all, field{value: value, Setting: Setting{
				Group:   group.name,
				Name:    member.Tag.Get("env"),
				Default: member.Tag.Get("envDefault"),
				Unit:    member.Tag.Get("unit"),
				Doc:     member.Tag.Get("doc"),
				Secret:  slices.Contains(secrets, member.Type),
			}})
		}
	}
	return all
}

// text returns the value as it is written in the environment, secrets masked.
func (f field) text() string {
	if level, ok := reflect.TypeAssert[slog.Level](f.value); ok {
		return strings.ToLower(level.String())
	}
	return fmt.Sprint(f.value.Interface())
}

func (f field) masked(raw string) string {
	switch {
	case f.Secret:
		return fmt.Sprint(reflect.ValueOf(raw).Convert(f.value.Type()))
	case strings.Contains(raw, "://") && strings.Contains(raw, "@"): // a password that does not belong there
		return SecretURL(raw).String()
	}
	return raw
}

func (f field) reason(raw string) string {
	reason := "want " + f.allowed()
	if strings.TrimSpace(raw) != raw {
		reason += "; this value begins or ends with a space or a line end"
	}
	return reason
}

// Validate reports whether a value that could be read is allowed. Empty text is: the setting has no default then.
func (f field) Validate() bool {
	switch v := f.value.Interface().(type) {
	case time.Duration: // a part of what Redis counts in milliseconds would be none
		return v >= time.Millisecond || v == 0 && f.Unit == "duration or 0"
	case ByteSize: // less is a number without its unit
		return v >= 1<<10
	case int:
		if v <= 0 {
			return v == 0 && f.Unit == "requests a minute"
		}
	case SecretURL:
		return v == "" || v.startsWith(strings.Fields(f.Unit))
	}
	text := f.text()
	if f.Secret { // text is a mask
		text = f.value.String()
	}
	switch valid := forms()[f.Unit].valid; {
	case text == "":
		return true
	case valid != nil:
		return valid(text)
	case strings.Contains(f.Unit, "|"):
		return slices.Contains(strings.Split(f.Unit, "|"), text)
	}
	return true
}

type form struct {
	allowed string
	// valid is nil where the type's parser says enough.
	valid func(text string) bool
}

// forms returns the forms of units; words joined by | and addresses of databases are not among them.
var forms = sync.OnceValue(func() map[string]form { //nolint:gochecknoglobals // a table
	matches := func(pattern string) func(string) bool { return regexp.MustCompile(pattern).MatchString }
	isPlain := func(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) }
	const plain = "a text without line ends and other control characters"
	const pair = `\s*[\w.-]+=([^,%\s]|%[0-9A-Fa-f]{2})+\s*`
	// 32 characters of base64 are some 190 bits; a second token is the old or the new one of a rotation.
	const visible = `[!-+\--~]{32,}`
	return map[string]form{
		"host:port":        {"host:port with a port up to 65535; 0 takes any free one", isAddress},
		"name":             {"letters, digits, _ . - and {macros}", matches(`^[\w.{}-]+$`)},
		"path":             {plain, isPlain},
		"text":             {plain, isPlain},
		"https://…":        {"origins such as https://app.example.org, without a path, joined by commas", isOrigins},
		"eip155:chain id":  {"eip155: and the number of a chain, such as eip155:8453", matches(`^eip155:[1-9]\d{0,17}$`)},
		"route=amount,…":   {"ids of routes with decimal amounts, such as daos.timeline=0.1, joined by commas", matches(`^[\w.-]+=\d+(\.\d+)?(,[\w.-]+=\d+(\.\d+)?)*$`)},
		"http:// https://": {"a URL that begins with http:// or https:// and names a host, without user, password and parameters", isPlainURL},
		"duration":         {allowed: "a duration from 1ms such as 500ms, 30s or 5m"},
		"duration or 0":    {allowed: "0s, or a duration such as 500ms, 30s or 5m"},
		"bytes":            {allowed: "a size from 1KiB such as 512KiB, 8MiB or 4GiB"},
		"rows":             {allowed: "a whole number, 0 for no bound"},
		"places":           {"a whole number from 1 to 18", matches(`^([1-9]|1[0-8])$`)},
		"address":          {"0x and 40 hexadecimal digits", matches(`^0x[0-9a-fA-F]{40}$`)},
		"amount":           {"a decimal number such as 0.001", matches(`^\d+(\.\d+)?$`)},
		"token[,token]":    {"one token of 32 or more visible ASCII characters, or two joined by a comma", matches(`^` + visible + `(,` + visible + `)?$`)},
		"token":            {"one token of visible ASCII characters", matches(`^[!-~]*$`)},
		"address[,address]": {
			"one or more URLs that begin with http:// or https://, joined by commas; in passwords, percent-encode / ? # and @", areURLs,
		},
		"timestamp":         {"an RFC 3339 time such as 2026-01-01T00:00:00Z", isTime},
		"name=value,…":      {"names with values such as api-key=abc, joined by commas; in a value, percent-encode commas, spaces and %", matches(`^` + pair + `(,` + pair + `)*$`)},
		"ratio":             {"a decimal number from 0 to 1 such as 0.01", matches(`^(0|1|[01]\.0+|0?\.\d+)$`)},
		"requests":          {allowed: "a whole number, 0 for none"},
		"requests a minute": {allowed: "a whole number, 0 for any number"},
		"addresses":         {"addresses and networks such as 10.0.0.0/8,fd00::1, joined by commas", areNetworks},
		"records":           {allowed: "a whole number from 1 to 2147483647"},
		"result rows":       {allowed: "a whole number from 1 to 2147483647"},
	}
})

// allowed describes the values that Validate and the type's parser accept.
func (f field) allowed() string {
	isURL := f.value.Type() == reflect.TypeFor[SecretURL]()
	switch form, known := forms()[f.Unit]; {
	case isURL:
		return "a URL that begins with " + oneOf(strings.Fields(f.Unit)) +
			" and names what to connect to; in its password, percent-encode / ? # and @"
	case known:
		return form.allowed
	}
	return oneOf(strings.Split(f.Unit, "|"))
}

// isAddress reports whether text is host:port with a numeric port up to 65535; the host may be empty.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	_, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil && !strings.ContainsFunc(text, unicode.IsSpace)
}

// oneOf joins words for a sentence: "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
