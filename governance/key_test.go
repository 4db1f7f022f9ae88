package governance_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/check"
)

// The keys that were published can never change. They are the first 16 bytes of
// SHA-256 over the parts joined by zero bytes, in base64url.
func TestKeysAreStable(t *testing.T) {
	t.Parallel()
	for hash, identity := range map[string]governance.Identity{
		"f_XfJz_6yGy1gCgoSU2qbg": {DAOID: "uniswap", Provider: governance.Snapshot, ExternalID: "0x8b8f"},
		"vo6YSj8ek_QLkk016RijdQ": {DAOID: "ethereum-name-service", Provider: governance.Tally, ExternalID: "42"},
		"zOpbNMU7MVo6UJ_JMNsKBw": {DAOID: "ελλάς", Provider: governance.Discourse, ExternalID: "1"},
	} {
		check.Want(t, check.Must(governance.ParseProposalKey("p1_"+hash))(t), identity.ProposalKey(), "proposal key", identity)
		check.Want(t, check.Must(governance.ParseTopicKey("t1_"+hash))(t), identity.TopicKey(), "topic key", identity)
	}
}

func TestParseProposalKeyRefuses(t *testing.T) {
	t.Parallel()
	const hash = "f_XfJz_6yGy1gCgoSU2qbg"
	for name, text := range map[string]string{
		"empty":                "",
		"the prefix alone":     "p1_",
		"no prefix":            hash,
		"a topic's prefix":     "t1_" + hash,
		"a later version":      "p2_" + hash,
		"upper case":           "P1_" + hash,
		"one character less":   "p1_" + hash[1:],
		"one character more":   "p1_" + hash + "A",
		"padding":              "p1_" + hash + "==",
		"a space before":       " p1_" + hash,
		"a line feed after":    "p1_" + hash + "\n",
		"a line feed inside":   "p1_" + hash[:21] + "\n",
		"two line feeds":       "p1_" + hash[:20] + "\n\n",
		"a return inside":      "p1_\r" + hash[1:],
		"returns all over":     "p1_\r\n" + hash[:8] + "\r\n" + hash[8:16] + "\r\n",
		"standard base64":      "p1_" + strings.Replace(hash, "_", "/", 1),
		"a character too high": "p1_" + hash[:21] + "é"[:1],
	} {
		got, err := governance.ParseProposalKey(text)
		if !errors.Is(err, governance.ErrMalformedKey) || got != "" {
			t.Errorf("%v: got %q, %v, want %v", name, got, err, governance.ErrMalformedKey)
		}
	}
}

// Whoever makes a key up is told that there is no such proposal, not that 22 characters are not 22 characters.
func TestAnyCharactersOfBase64URLAreAKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"p1_zzzzzzzzzzzzzzzzzzzzzz", "p1_AAAAAAAAAAAAAAAAAAAAAB", "p1_---------------------_"} {
		if got, err := governance.ParseProposalKey(text); err != nil || string(got) != text {
			t.Errorf("got %q, %v, want %s", got, err, text)
		}
	}
}

func TestParseTopicKeyRefusesProposals(t *testing.T) {
	t.Parallel()
	if got, err := governance.ParseTopicKey("p1_AAAAAAAAAAAAAAAAAAAAAA"); !errors.Is(err, governance.ErrMalformedKey) || got != "" {
		t.Errorf("got %q, %v, want %v", got, err, governance.ErrMalformedKey)
	}
}

func TestVoterIdentityIsCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0xD8DA6BF26964aF9D7eEd9e03E53415D37aA96045":                         "0xd8da6bf26964af9d7eed9e03e53415d37aa96045",
		"0x57A157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc":  "0x057a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc",
		"0x057a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc": "0x057a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc",
		"0x" + strings.Repeat("A", 41):                                       "0x" + strings.Repeat("0", 23) + strings.Repeat("a", 41),
		"0x" + strings.Repeat("a", 65):                                       "0x" + strings.Repeat("a", 65),
		"0x" + strings.Repeat("g", 50):                                       "0x" + strings.Repeat("g", 50),
		"eip155:10:0xD8DA6BF26964aF9D7eEd9e03E53415D37aA96045":               "0xd8da6bf26964af9d7eed9e03e53415d37aa96045",
		"eip155:10:0xABC": "eip155:10:0xABC",
		"0XABC":           "0xabc",
		"0x":              "0x",
		"0X":              "0x",
		"":                "",
		"0":               "0",
		"x0AB":            "x0AB",
		"Vitalik.eth":     "Vitalik.eth",
		"cosmos1QQQ":      "cosmos1QQQ",
		" 0xAB":           " 0xAB",
		"starknet:0xABC":  "starknet:0xABC",
	} {
		if got, again := governance.VoterIdentity(text), governance.VoterIdentity(want); got != want || again != want {
			t.Errorf("%q: got %q, and from %q %q", text, got, want, again)
		}
	}
}

func FuzzParseProposalKey(f *testing.F) {
	for _, text := range []string{
		"p1_AAAAAAAAAAAAAAAAAAAAAA", "p1_AAAAAAAAAAAAAAAAAAAAAB", "p1_f_XfJz_6yGy1gCgoSU2qbg", "t1_AAAAAAAAAAAAAAAAAAAAAA",
		"p1_", "", "p1_AAAAAAAAAAAAAAAAAAAAA\n", "p1_AAAAAAAAAAAAAAAAAAAA==",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := governance.ParseProposalKey(text)
		if err != nil {
			if key != "" || !errors.Is(err, governance.ErrMalformedKey) {
				t.Fatalf("%q: got %q, %v, want %v alone", text, key, err, governance.ErrMalformedKey)
			}
			return
		}
		hash, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, "p1_"))
		if err != nil || len(hash) != 16 {
			t.Fatalf("%q: holds %d bytes, %v, want 16", text, len(hash), err)
		}
		if string(key) != text {
			t.Fatalf("%q: got %q", text, key)
		}
	})
}

func TestIDsDependOnEveryPart(t *testing.T) {
	t.Parallel()
	ids := []string{
		governance.EventID("a", "b", "c"), governance.EventID("ab", "", "c"), governance.EventID("a", "b", "d"),
		governance.EventID("a", "c", "c"), governance.SignalID("a", "b", "c"),
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 5 {
		t.Errorf("got %v, want five", ids)
	}
	if got, want := governance.EventID("dao", rules.VotingEnded, "p1_x"), governance.EventID("dao", "voting_ended", "p1_x"); got != want || got[:3] != "e1_" || len(got) != 25 {
		t.Errorf("got %s, want e1_ and 22 characters, the same each time", got)
	}
}
