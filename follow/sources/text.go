package sources

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"pnyx/governance/abi"
)

// scalar is a value that the file has as text.
type scalar interface {
	// read sets the value. The error is errForm for a text of another form, and never
	// repeats the text, which may be a key.
	read(text string, environ func(string) (string, bool)) error
	// form says what is allowed.
	form() string
}

// errForm reports a text that does not have the form of its value.
var errForm = errors.New("has another form")

// set sets a value to a text. The error is errForm for one that is not allowed.
func set[T ~string](into *T, text string, allowed bool) error {
	if !allowed {
		return errForm
	}
	*into = T(text)
	return nil
}

// maxTextBytes bounds a name, an id and a contact.
const maxTextBytes = 200

// Text is a text in one line.
type Text string

func (t *Text) read(text string, _ func(string) (string, bool)) error {
	return set(t, text, strings.TrimSpace(text) != "" && len(text) <= maxTextBytes && !strings.ContainsFunc(text, unicode.IsControl))
}

func (*Text) form() string { return "a text of at most 200 bytes in one line" }

// Identifier is an id of a DAO, a space or an organization.
type Identifier string

func (i *Identifier) read(text string, _ func(string) (string, bool)) error {
	// Emoji are symbols, a dozen signs of other kinds, tones of skin, and what joins them: keycaps, and tags in flags.
	allowed := regexp.MustCompile(`^(?:[\w.:\p{L}\p{M}\p{N}\p{So}\p{Sc}‼⁉〰〽↔⤴⤵◻-◾\x{1f3fb}-\x{1f3ff}\x{200d}\x{e0020}-\x{e007f}-]|` +
		`[#*]\x{fe0f}?\x{20e3})+$`).MatchString(text)
	return set(i, text, allowed && len(text) <= maxTextBytes)
}

func (*Identifier) form() string {
	return "an id of letters, digits, emoji and . _ : -, at most 200 bytes"
}

// Number is a whole number.
type Number uint64

func (n *Number) read(text string, _ func(string) (string, bool)) error {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return errForm
	}
	*n = Number(number)
	return nil
}

func (*Number) form() string { return "a whole number" }

// Duration is a duration from 1 s to 1 h.
type Duration time.Duration

func (d *Duration) read(text string, _ func(string) (string, bool)) error {
	duration, err := time.ParseDuration(text)
	if err != nil || duration < time.Second || duration > time.Hour {
		return errForm
	}
	*d = Duration(duration)
	return nil
}

func (*Duration) form() string { return "a duration from 1s to 1h, such as 4s" }

// ChainID is eip155: and the number of a chain.
type ChainID string

func (c *ChainID) read(text string, _ func(string) (string, bool)) error {
	return set(c, text, regexp.MustCompile(`^eip155:[1-9]\d{0,17}$`).MatchString(text))
}

func (*ChainID) form() string { return "a chain such as eip155:1" }

// Number returns the number of the chain.
func (c ChainID) Number() uint64 {
	number, _ := strconv.ParseUint(strings.TrimPrefix(string(c), "eip155:"), 10, 64) // validated
	return number
}

// Contract is the address of a contract, in lower case.
type Contract string

func (c *Contract) read(text string, _ func(string) (string, bool)) error {
	return set(c, strings.ToLower(text), abi.IsValidAddress(text))
}

func (*Contract) form() string { return "0x and " + digits }

// digits says which digits an address has.
const digits = "40 hexadecimal digits, not all of them 0, and with the right checksum where letters of both cases are among them"

// GovernorID is a chain, a colon and the address of a contract, in lower case.
type GovernorID string

func (g *GovernorID) read(text string, _ func(string) (string, bool)) error {
	ofChain := regexp.MustCompile(`^eip155:[1-9]\d{0,17}:`).MatchString(text)
	return set(g, strings.ToLower(text), ofChain && abi.IsValidAddress(text[strings.LastIndexByte(text, ':')+1:]))
}

func (*GovernorID) form() string {
	return "a chain such as eip155:1, a colon, and the address of a Governor: 0x and " + digits
}

// Chain returns the chain of the Governor.
func (g GovernorID) Chain() ChainID {
	return ChainID(g[:strings.LastIndexByte(string(g), ':')])
}

// Address returns the address of the contract.
func (g GovernorID) Address() string { return string(g[len(g.Chain())+1:]) }

// Host is a host name in lower case, with a port where it is not 443.
type Host string

func (h *Host) read(text string, _ func(string) (string, bool)) error {
	text = strings.TrimSuffix(strings.ToLower(text), ":443")
	return set(h, text, len(text) <= maxTextBytes && regexp.MustCompile(`^[a-z0-9]+([.-]+[a-z0-9]+)*(:[1-9]\d{0,4})?$`).MatchString(text) && !strings.Contains(text, ".."))
}

func (*Host) form() string {
	return "a host name without https:// and without a path, such as forum.example.org"
}

// Secret is a key. The file names the environment variable that has it.
type Secret string

func (s *Secret) read(text string, environ func(string) (string, bool)) error {
	if reference.FindString(text) != text || text == "" {
		return errForm
	}
	key, err := expand(text, environ)
	*s = Secret(key)
	return err
}

func (*Secret) form() string {
	return "${NAME}, an environment variable with the key; the file is no place for secrets"
}

// String returns a mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// MarshalText returns a mask, for log handlers and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Address is the address of a server, in which environment variables are replaced. It may
// contain keys.
type Address string

func (a *Address) read(text string, environ func(string) (string, bool)) error {
	if hasLiteralKey(text) {
		return errors.New("has what looks like a key: write ${NAME} and put the key into that environment variable")
	}
	expanded, err := expand(text, environ)
	if err != nil {
		return err
	}
	parsed, err := url.Parse(expanded)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.Fragment != "" {
		return errForm
	}
	*a = Address(expanded)
	return nil
}

func (*Address) form() string {
	return "an address that begins with https:// or http://, with ${NAME} in place of keys"
}

// String returns the scheme and host alone: all else may be a key.
func (a Address) String() string {
	if a == "" {
		return ""
	}
	return a.URL().Scheme + "://" + a.URL().Host
}

// MarshalText returns String, for log handlers and JSON.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// URL returns the address with its keys.
func (a Address) URL() *url.URL {
	parsed, err := url.Parse(string(a))
	if err != nil { // only one that was not validated
		return &url.URL{}
	}
	return parsed
}

// reference is an environment variable in a text.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces environment variables.
func expand(text string, environ func(string) (string, bool)) (string, error) {
	var missing error
	expanded := reference.ReplaceAllStringFunc(text, func(match string) string {
		name := reference.FindStringSubmatch(match)[1]
		value, _ := environ(name)
		if value == "" {
			missing = fmt.Errorf("environment variable %s is not set", name)
		}
		return value
	})
	return expanded, missing
}

// hasLiteralKey reports whether an address has a user, a parameter, or a part of its path
// of 20 or more letters and digits, that is written out instead of taken from the
// environment.
func hasLiteralKey(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	path, query, _ := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(path, "/")
	if user, _, found := strings.Cut(host, "@"); found && reference.ReplaceAllString(user, "") != "" {
		return true
	}
	for pair := range strings.SplitSeq(query, "&") {
		if _, value, _ := strings.Cut(pair, "="); reference.ReplaceAllString(value, "") != "" {
			return true
		}
	}
	for part := range strings.SplitSeq(path, "/") {
		if part = reference.ReplaceAllString(part, ""); len(part) >= 20 && strings.ContainsAny(part, "0123456789") {
			return true
		}
	}
	return false
}
