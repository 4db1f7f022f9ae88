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
	"time"
	"unicode"
)

// Setting describes one environment variable.
type Setting struct {
	// Group names the part of pnyx that reads it.
	Group string
	// Name is the environment variable.
	Name string
	// Default is the text used when the variable is not set.
	Default string
	// Unit is what the value counts, or the forms it may have.
	Unit string
	// Doc is one sentence for docs/settings.md.
	Doc string
	// Secret says that the value may contain a password.
	Secret bool
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
	// value is addressable, see pointer.
	value reflect.Value
}

type group struct {
	name  string
	value reflect.Value
}

// groups returns the exported fields of c, in order of declaration.
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
	var all []field
	for _, group := range groups(c) {
		for member, value := range group.value.Fields() {
			all = append(all, field{value: value, Setting: Setting{
				Group:   group.name,
				Name:    member.Tag.Get("env"),
				Default: member.Tag.Get("envDefault"),
				Unit:    member.Tag.Get("unit"),
				Doc:     member.Tag.Get("doc"),
				Secret:  isSecret(member.Type),
			}})
		}
	}
	return all
}

// isSecret reports whether values of a type are masked when printed.
func isSecret(kind reflect.Type) bool {
	return slices.Contains([]reflect.Type{
		reflect.TypeFor[SecretURL](), reflect.TypeFor[SecretURLs](), reflect.TypeFor[Secret](), reflect.TypeFor[Secrets](),
		reflect.TypeFor[Pairs](),
	}, kind)
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

// reason says why a value is refused.
func (f field) reason(raw string) string {
	reason := "want " + f.allowed()
	if strings.TrimSpace(raw) != raw {
		reason += "; this value begins or ends with a space or a line end"
	}
	return reason
}

// Validate reports whether a value that could be read is also allowed. Empty text always
// is: only a setting without a default can be empty here.
func (f field) Validate() bool {
	switch v := f.value.Interface().(type) {
	case time.Duration:
		return v > 0 || v == 0 && f.Unit == "duration or 0"
	case ByteSize:
		return v > 0
	case int:
		return v > 0 || v == 0 && f.Unit == "requests a minute"
	case interface{ Validate() bool }:
		return v.Validate()
	case SecretURL:
		return v == "" || v.startsWith(strings.Fields(f.Unit))
	}
	switch text := f.text(); {
	case text == "":
		return true
	case f.Unit == "host:port":
		return isAddress(text)
	case f.Unit == "address":
		return regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`).MatchString(text)
	case f.Unit == "amount":
		return regexp.MustCompile(`^\d+(\.\d+)?$`).MatchString(text)
	case f.Unit == "eip155:chain id":
		return regexp.MustCompile(`^eip155:\d+$`).MatchString(text)
	case f.Unit == "route=amount,…":
		return regexp.MustCompile(`^[\w.-]+=\d+(\.\d+)?(,[\w.-]+=\d+(\.\d+)?)*$`).MatchString(text)
	case f.Unit == "http:// https://":
		return SecretURL(text).startsWith(strings.Fields(f.Unit)) && !strings.ContainsAny(text, "?@")
	case f.Unit == "name":
		return regexp.MustCompile(`^[\w.{}-]+$`).MatchString(text)
	case strings.Contains(f.Unit, "|"):
		return slices.Contains(strings.Split(f.Unit, "|"), text)
	case f.Unit == "path" || f.Unit == "text":
		return !strings.ContainsFunc(text, unicode.IsControl)
	}
	return true
}

// allowed describes the values that Validate and the type's parser accept.
func (f field) allowed() string {
	switch f.Unit {
	case "host:port":
		return "host:port with a port up to 65535; 0 takes any free one"
	case "name":
		return "letters, digits, _ . - and {macros}"
	case "path", "text":
		return "a text without line ends and other control characters"
	case "https://…":
		return "origins such as https://app.example.org, without a path, joined by commas"
	case "eip155:chain id":
		return "eip155: and the number of a chain, such as eip155:8453"
	case "route=amount,…":
		return "ids of routes with decimal amounts, such as daos.timeline=0.1, joined by commas"
	case "http:// https://":
		if !f.Secret {
			return "a URL that begins with http:// or https:// and names a host, without user, password and parameters"
		}
	case "duration":
		return "a duration above 0 such as 500ms, 30s or 5m"
	case "duration or 0":
		return "0s, or a duration such as 500ms, 30s or 5m"
	case "bytes":
		return "a size above 0 such as 512KiB, 8MiB or 4GiB"
	case "rows":
		return "a whole number, 0 for no bound"
	case "places":
		return "a whole number from 1 to 18"
	case "address":
		return "0x and 40 hexadecimal digits"
	case "amount":
		return "a decimal number such as 0.001"
	case "token[,token]":
		return "one token of 32 or more visible ASCII characters, or two joined by a comma"
	case "token":
		return "one token of visible ASCII characters"
	case "address[,address]":
		return "one or more URLs that begin with http:// or https://, joined by commas; in passwords, percent-encode / ? # and @"
	case "timestamp":
		return "an RFC 3339 time such as 2026-01-01T00:00:00Z"
	case "name=value,…":
		return "names with values such as api-key=abc, joined by commas; in a value, percent-encode commas, spaces and %"
	case "ratio":
		return "a decimal number from 0 to 1 such as 0.01"
	case "requests":
		return "a whole number, 0 for none"
	case "requests a minute":
		return "a whole number, 0 for any number"
	case "addresses":
		return "addresses and networks such as 10.0.0.0/8,fd00::1, joined by commas"
	case "records", "result rows":
		return "a whole number from 1 to 2147483647"
	}
	if f.Secret {
		return "a URL that begins with " + oneOf(strings.Fields(f.Unit)) +
			" and names what to connect to; in its password, percent-encode / ? # and @"
	}
	return oneOf(strings.Split(f.Unit, "|"))
}

// isAddress reports whether text is host:port with a numeric port up to 65535. The host
// may be empty.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	_, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil
}

// oneOf joins words for a sentence: "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
