package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/shopspring/decimal"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"pnyx/governance"
)

// Fingerprint returns a hash of all fields of a record. It is the same on every machine.
// Records with equal fingerprints are considered equal; a change of the encoding would
// import every record again.
func Fingerprint(r Record) (uint64, error) {
	ballot, ok := r.(*Ballot)
	if !ok {
		content, err := msgpack.Marshal(r)
		if err != nil {
			return 0, fmt.Errorf("fingerprint record of %s: %w", r.Kind(), err)
		}
		return xxhash.Sum64(content), nil
	}
	pooled := contents.Get().(*[]byte) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer contents.Put(pooled)
	content, err := ballot.appendTo((*pooled)[:0])
	if err != nil {
		return 0, fmt.Errorf("fingerprint ballot: %w", err)
	}
	*pooled = content
	return xxhash.Sum64(content), nil
}

// contents pools the buffers of Fingerprint.
//
//nolint:gochecknoglobals // a pool is shared by the process
var contents = sync.Pool{New: func() any { return new([]byte) }}

// appendTo appends the bytes that msgpack writes for a ballot by reflection, in a fraction
// of the time: imports encode millions of ballots.
func (b *Ballot) appendTo(to []byte) ([]byte, error) {
	fields := 14
	if b.Withdrawn {
		fields++
	}
	to = append(to, msgpcode.FixedMapLow|byte(fields))
	to = append(appendText(to, "Proposal"), msgpcode.FixedMapLow|2)
	to = appendText(appendText(to, "Provider"), string(b.Proposal.Provider))
	to = appendText(appendText(to, "ExternalID"), b.Proposal.ExternalID)
	to = appendText(appendText(to, "VoteID"), b.VoteID)
	to = appendText(appendText(to, "Voter"), b.Voter)
	to, err := appendDecimal(appendText(to, "Power"), b.Power)
	if err != nil {
		return to, err
	}
	to = appendBool(appendText(to, "PowerRounded"), b.PowerRounded)
	to = appendTexts(appendText(to, "Choices"), b.Choices)
	if to, err = appendDecimals(appendText(to, "Shares"), b.Shares); err != nil {
		return to, err
	}
	if to, err = appendDecimals(appendText(to, "Roots"), b.Roots); err != nil {
		return to, err
	}
	to = appendText(appendText(to, "ChoiceKey"), b.ChoiceKey)
	to = appendText(appendText(to, "RawChoice"), b.RawChoice)
	to = appendTime(appendText(to, "VotedAt"), b.VotedAt)
	to = appendBool(appendText(to, "VotedDayOnly"), b.VotedDayOnly)
	to = appendText(appendText(to, "TxHash"), b.TxHash)
	to = appendText(appendText(to, "Reason"), b.Reason)
	// A false value is omitted, so that the fingerprints of other ballots stay the same.
	if b.Withdrawn {
		to = appendBool(appendText(to, "Withdrawn"), true)
	}
	return to, nil
}

// sizes are the codes of lengths that do not fit into a code: of 8, 16 and 32 bits. There is
// none of 8 bits for arrays.
type sizes struct{ of8, of16, of32 byte }

func (s sizes) append(to []byte, length int) []byte {
	switch {
	case length <= math.MaxUint8 && s.of8 != 0:
		return append(to, s.of8, byte(length)) //nolint:gosec // it fits
	case length <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(to, s.of16), uint16(length)) //nolint:gosec // it fits
	}
	return binary.BigEndian.AppendUint32(append(to, s.of32), uint32(length)) //nolint:gosec // no record has 4 GB
}

func appendText(to []byte, text string) []byte {
	if len(text) < 32 {
		to = append(to, msgpcode.FixedStrLow|byte(len(text))) //nolint:gosec // it fits
	} else {
		to = sizes{msgpcode.Str8, msgpcode.Str16, msgpcode.Str32}.append(to, len(text))
	}
	return append(to, text...)
}

func appendArrayLen(to []byte, length int) []byte {
	if length < 16 {
		return append(to, msgpcode.FixedArrayLow|byte(length)) //nolint:gosec // it fits
	}
	return sizes{0, msgpcode.Array16, msgpcode.Array32}.append(to, length)
}

func appendTexts(to []byte, texts []string) []byte {
	if texts == nil {
		return append(to, msgpcode.Nil)
	}
	to = appendArrayLen(to, len(texts))
	for _, text := range texts {
		to = appendText(to, text)
	}
	return to
}

func appendDecimals(to []byte, numbers []decimal.Decimal) ([]byte, error) {
	if numbers == nil {
		return append(to, msgpcode.Nil), nil
	}
	to = appendArrayLen(to, len(numbers))
	var err error
	for _, number := range numbers {
		if to, err = appendDecimal(to, number); err != nil {
			return to, err
		}
	}
	return to, nil
}

// appendDecimal appends a number in the binary form of the decimal package.
func appendDecimal(to []byte, number decimal.Decimal) ([]byte, error) {
	content, err := number.MarshalBinary()
	to = sizes{msgpcode.Bin8, msgpcode.Bin16, msgpcode.Bin32}.append(to, len(content))
	return append(to, content...), err
}

func appendBool(to []byte, value bool) []byte {
	if value {
		return append(to, msgpcode.True)
	}
	return append(to, msgpcode.False)
}

// appendTime appends a time as milliseconds, or nil.
func appendTime(to []byte, at *governance.Timestamp) []byte {
	if at == nil {
		return append(to, msgpcode.Nil)
	}
	return binary.BigEndian.AppendUint64(append(to, msgpcode.Int64), uint64(*at)) //nolint:gosec // two's complement
}
