package governance

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Prefixes of the public keys.
const (
	proposalKeyPrefix = "p1_"
	topicKeyPrefix    = "t1_"
	eventIDPrefix     = "e1_"
	signalIDPrefix    = "s1_"
)

// keyBytes is the length of the hash inside a key: 128 bits, 22 characters.
const keyBytes = 16

// ErrMalformedKey is returned for a text that is not a well-formed key.
var ErrMalformedKey = errors.New("malformed key")

// ProposalKey is the public, opaque name of a proposal: "p1_" and 22 base64url characters, a hash of its identity,
// the same on every machine and after every import.
type ProposalKey string

// TopicKey is the public, opaque name of a forum topic: "t1_" and 22 base64url characters, made as ProposalKey is.
type TopicKey string

// Identity says where a proposal or topic comes from.
type Identity struct {
	DAOID      string   `json:"daoId" msgpack:"daoId"`
	Provider   Provider `json:"provider" msgpack:"provider"`
	ExternalID string   `json:"externalId" msgpack:"externalId"`
}

// ProposalKey returns the key of the proposal with this identity.
func (i Identity) ProposalKey() ProposalKey { return ProposalKey(proposalKeyPrefix + i.hash()) }

// TopicKey returns the key of the forum topic with this identity.
func (i Identity) TopicKey() TopicKey { return TopicKey(topicKeyPrefix + i.hash()) }

func (i Identity) hash() string { return hashOf(i.DAOID, string(i.Provider), i.ExternalID) }

// EventID returns the id of the one event of a type about an item, named by its key, of a DAO.
func EventID(daoID, eventType, itemKey string) string {
	return eventIDPrefix + hashOf(daoID, eventType, itemKey)
}

// SignalID returns the id of the one signal of a type about an item, named by its key, of a DAO.
func SignalID(daoID, signalType, itemKey string) string {
	return signalIDPrefix + hashOf(daoID, signalType, itemKey)
}

// hashOf hashes parts with a zero byte between them, which none of them may contain: different lists of parts give
// different input.
func hashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:keyBytes])
}

// ParseProposalKey checks that text is well-formed, not that such a proposal exists. The error is ErrMalformedKey.
func ParseProposalKey(text string) (ProposalKey, error) {
	return parseKey[ProposalKey](text, proposalKeyPrefix)
}

// ParseTopicKey checks that text is well-formed, as ParseProposalKey does.
func ParseTopicKey(text string) (TopicKey, error) { return parseKey[TopicKey](text, topicKeyPrefix) }

func parseKey[Key ~string](text, prefix string) (Key, error) {
	hash, found := strings.CutPrefix(text, prefix)
	if found && len(hash) == base64.RawURLEncoding.EncodedLen(keyBytes) {
		// Decoding skips line ends, so a text with some decodes to fewer bytes.
		decoded, err := base64.RawURLEncoding.DecodeString(hash)
		if err == nil && len(decoded) == keyBytes {
			return Key(text), nil
		}
	}
	return "", fmt.Errorf("%w: want %q and 22 base64url characters", ErrMalformedKey, prefix)
}

// VoterIdentity returns the canonical spelling of a voter: hexadecimal addresses in lower
// case, without a chain before it, those longer than 40 digits with all 64 that Starknet has, any
// other text unchanged.
func VoterIdentity(text string) string {
	if strings.HasPrefix(text, chainPrefix) && IsGovernorID(strings.ToLower(text)) {
		text = text[strings.LastIndexByte(text, ':')+1:]
	}
	text = lowerHexadecimal(text)
	digits, found := strings.CutPrefix(text, "0x")
	if missing := starknetDigits - len(digits); found && missing > 0 && len(digits) > ethereumDigits &&
		strings.Trim(digits, "0123456789abcdef") == "" {
		return "0x" + strings.Repeat("0", missing) + digits
	}
	return text
}

// Digits of an address on Ethereum and on Starknet, whose addresses are also written without leading zeros.
const ethereumDigits, starknetDigits = 40, 64

// lowerHexadecimal returns a hexadecimal text in lower case, any other unchanged.
func lowerHexadecimal(text string) string {
	if len(text) >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		return strings.ToLower(text)
	}
	return text
}
