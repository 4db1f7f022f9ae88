package sources

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"pnyx/governance/abi"
)

// environ looks up environment variables.
type environ = func(name string) (string, bool)

// form is how a value is written that the file has as text.
type form struct {
	// want says what is allowed.
	want string
	// read returns the value of a text. Its error is errForm, and never repeats the text, which may be a key.
	read func(text string, from environ) (any, error)
}

var errForm = errors.New("has another form")

func allow(value any, allowed bool) (any, error) {
	if !allowed {
		return nil, errForm
	}
	return value, nil
}

// maxTextBytes bounds a name, an id and a contact. digits says which digits an address has.
const (
	maxTextBytes = 200
	digits       = "40 hexadecimal digits, not all of them 0, and with the right checksum where letters of both cases are among them"
)

var forms = sync.OnceValue(func() map[reflect.Type]form { //nolint:gochecknoglobals // a table
	// Emoji are symbols, a dozen signs of other kinds, tones of skin, and what joins them: keycaps, and tags in flags.
	identifier := regexp.MustCompile(`^(?:[\w.:\p{L}\p{M}\p{N}\p{So}\p{Sc}‼⁉〰〽↔⤴⤵◻-◾\x{1f3fb}-\x{1f3ff}\x{200d}\x{e0020}-\x{e007f}-]|` +
		`[#*]\x{fe0f}?\x{20e3})+$`)
	chain := regexp.MustCompile(`^eip155:[1-9]\d{0,17}$`)
	host := regexp.MustCompile(`^[a-z0-9]+([.-]+[a-z0-9]+)*(:[1-9]\d{0,4})?$`)
	return map[reflect.Type]form{
		reflect.TypeFor[Text](): {"a text of at most 200 bytes in one line", func(text string, _ environ) (any, error) {
			return allow(Text(text), strings.TrimSpace(text) != "" && len(text) <= maxTextBytes && !strings.ContainsFunc(text, unicode.IsControl))
		}},
		reflect.TypeFor[Identifier](): {"an id of letters, digits, emoji and . _ : -, at most 200 bytes", func(text string, _ environ) (any, error) {
			return allow(Identifier(text), identifier.MatchString(text) && len(text) <= maxTextBytes)
		}},
		reflect.TypeFor[Number](): {"a whole number from 1", func(text string, _ environ) (any, error) {
			number, err := strconv.ParseUint(text, 10, 63)
			return allow(Number(number), err == nil && number > 0)
		}},
		reflect.TypeFor[Duration](): {"a duration from 1s to 1h, such as 4s", func(text string, _ environ) (any, error) {
			duration, err := time.ParseDuration(text)
			return allow(Duration(duration), err == nil && duration >= time.Second && duration <= time.Hour)
		}},
		reflect.TypeFor[ChainID](): {"a chain such as eip155:1", func(text string, _ environ) (any, error) {
			return allow(ChainID(text), chain.MatchString(text))
		}},
		reflect.TypeFor[Contract](): {"0x and " + digits, func(text string, _ environ) (any, error) {
			return allow(Contract(strings.ToLower(text)), abi.IsValidAddress(text))
		}},
		reflect.TypeFor[GovernorID](): {"a chain such as eip155:1, a colon, and the address of a contract: 0x and " + digits, func(text string, _ environ) (any, error) {
			at := max(strings.LastIndexByte(text, ':'), 0)
			return allow(GovernorID(strings.ToLower(text)), chain.MatchString(text[:at]) && abi.IsValidAddress(text[at+1:]))
		}},
		reflect.TypeFor[Host](): {"a host name without https:// and without a path, such as forum.example.org", func(text string, _ environ) (any, error) {
			text = strings.TrimSuffix(strings.ToLower(text), ":443")
			return allow(Host(text), len(text) <= maxTextBytes && host.MatchString(text) && !strings.Contains(text, ".."))
		}},
		reflect.TypeFor[Secret](): {
			"${NAME}, an environment variable with the key; the file is no place for secrets", func(text string, from environ) (any, error) {
				if reference.FindString(text) != text || text == "" {
					return nil, errForm
				}
				key, err := expand(text, from)
				return Secret(key), err
			},
		},
		reflect.TypeFor[Address](): {"an address that begins with https:// or http://, with ${NAME} in place of keys", readAddress},
	}
})

func readAddress(text string, from environ) (any, error) {
	if hasLiteralKey(text) {
		return nil, errors.New("has what looks like a key: write ${NAME} and put the key into that environment variable")
	}
	expanded, err := expand(text, from)
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(expanded)
	return allow(Address(expanded), err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" && parsed.Fragment == "")
}

type (
	// Text is a text in one line.
	Text string
	// Identifier is an id of a DAO, a space or an organization.
	Identifier string
	// Number is a whole number from 1.
	Number uint64
	// Duration is a duration from 1 s to 1 h.
	Duration time.Duration
	// ChainID is eip155: and the number of a chain.
	ChainID string
	// Contract is the address of a contract, in lower case.
	Contract string
	// GovernorID is a chain, a colon and the address of a contract, in lower case.
	GovernorID string
	// Host is a host name in lower case, with a port where it is not 443.
	Host string
	// Secret is a key. The file names the environment variable that has it.
	Secret string
	// Address is the address of a server. It may contain keys.
	Address string
)

// Number returns the number of the chain.
func (c ChainID) Number() uint64 {
	number, _ := strconv.ParseUint(strings.TrimPrefix(string(c), "eip155:"), 10, 64) // validated
	return number
}

// Chain returns the chain of the Governor.
func (g GovernorID) Chain() ChainID { return ChainID(g[:strings.LastIndexByte(string(g), ':')]) }

// Address returns the address of the contract.
func (g GovernorID) Address() string { return string(g[len(g.Chain())+1:]) }

// String returns a mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// MarshalText returns a mask, for log handlers and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

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

func expand(text string, from environ) (string, error) {
	var missing error
	expanded := reference.ReplaceAllStringFunc(text, func(match string) string {
		name := reference.FindStringSubmatch(match)[1]
		value, _ := from(name)
		if value == "" {
			missing = fmt.Errorf("environment variable %s is not set, or is a setting of Pnyx", name)
		}
		return value
	})
	return expanded, missing
}

// hasLiteralKey reports whether an address has a user, a parameter, or a part of its path of 20 or more letters and
// digits, that is written out instead of taken from the environment.
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
