package governance

import (
	"math/big"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// OptionalText returns text, or nil when it is empty because upstream does not state it.
func OptionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// NormalizeTitle returns a title as it is compared: without regard to case, composition and white space.
func NormalizeTitle(title string) string {
	// Case folding may decompose characters.
	folded := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(title)))
	return strings.Join(strings.Fields(folded), " ")
}

// NormalizeExternalID returns an id as it is compared: in lower case if it is hexadecimal or a Governor's. In others,
// such as the base58 ids of older Snapshot proposals, the case matters.
func NormalizeExternalID(id string) string {
	id = strings.TrimSpace(id)
	if lower := strings.ToLower(id); strings.HasPrefix(lower, chainPrefix) {
		return lower
	}
	return lowerHexadecimal(id)
}

// HexadecimalNumber returns the digits of a number of at most 32 bytes after 0x; empty if the id is none.
func HexadecimalNumber(id string) string {
	number, is := new(big.Int).SetString(strings.TrimPrefix(id, "0x"), 16)
	if !is || !strings.HasPrefix(id, "0x") || number.Sign() < 0 || number.BitLen() > 256 {
		return ""
	}
	return number.String()
}

// GroupDigits puts a comma between each three digits of a whole number.
func GroupDigits(digits string) string {
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}

// Shorten returns at most so many bytes of a text, whole characters, with an ellipsis where there were more.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// clip shortens a text that goes into an error message.
func clip(text string) string { return Shorten(text, 80) }
