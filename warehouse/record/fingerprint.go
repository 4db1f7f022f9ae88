package record

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/shopspring/decimal"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// Fingerprint returns a hash of all fields of a record. It is the same on every machine.
// Records with equal fingerprints are considered equal; a change of the encoding would
// import every record again.
func Fingerprint(r Record) (uint64, error) {
	content := contents.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	defer contents.Put(content)
	content.Reset()
	encoder := msgpack.GetEncoder()
	defer msgpack.PutEncoder(encoder)
	encoder.Reset(content)
	if err := encoder.Encode(r); err != nil {
		return 0, fmt.Errorf("fingerprint record of %s: %w", r.Kind(), err)
	}
	return xxhash.Sum64(content.Bytes()), nil
}

// contents pools the buffers of Fingerprint.
//
//nolint:gochecknoglobals // a pool is shared by the process
var contents = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// EncodeMsgpack implements msgpack.CustomEncoder. It writes the bytes that msgpack writes
// by reflection, in half the time: imports encode millions of ballots.
func (b *Ballot) EncodeMsgpack(to *msgpack.Encoder) error {
	err := errors.Join(
		to.EncodeMapLen(b.fields()),
		to.EncodeString("Proposal"), b.Proposal.encode(to),
		to.EncodeString("VoteID"), to.EncodeString(b.VoteID),
		to.EncodeString("Voter"), to.EncodeString(b.Voter),
		to.EncodeString("Power"), encodeDecimal(to, b.Power),
		to.EncodeString("PowerRounded"), to.EncodeBool(b.PowerRounded),
		to.EncodeString("Choices"), encodeTexts(to, b.Choices),
		to.EncodeString("Shares"), encodeDecimals(to, b.Shares),
		to.EncodeString("Roots"), encodeDecimals(to, b.Roots),
		to.EncodeString("ChoiceKey"), to.EncodeString(b.ChoiceKey),
		to.EncodeString("RawChoice"), to.EncodeString(b.RawChoice),
		to.EncodeString("VotedAt"), encodeTime(to, b.VotedAt),
		to.EncodeString("VotedDayOnly"), to.EncodeBool(b.VotedDayOnly),
		to.EncodeString("TxHash"), to.EncodeString(b.TxHash),
		to.EncodeString("Reason"), to.EncodeString(b.Reason),
	)
	if b.Withdrawn {
		err = errors.Join(err, to.EncodeString("Withdrawn"), to.EncodeBool(true))
	}
	return err
}

// fields is the number of fields that the encoding has. Withdrawn is omitted if it is
// false, so that the fingerprints of other ballots stay the same.
func (b *Ballot) fields() int {
	if b.Withdrawn {
		return 15
	}
	return 14
}

func (r ProposalRef) encode(to *msgpack.Encoder) error {
	return errors.Join(
		to.EncodeMapLen(2),
		to.EncodeString("Provider"), to.EncodeString(string(r.Provider)),
		to.EncodeString("ExternalID"), to.EncodeString(r.ExternalID),
	)
}

func encodeTexts(to *msgpack.Encoder, texts []string) error {
	if texts == nil {
		return to.EncodeNil()
	}
	err := to.EncodeArrayLen(len(texts))
	for _, text := range texts {
		err = errors.Join(err, to.EncodeString(text))
	}
	return err
}

func encodeDecimals(to *msgpack.Encoder, numbers []decimal.Decimal) error {
	if numbers == nil {
		return to.EncodeNil()
	}
	err := to.EncodeArrayLen(len(numbers))
	for _, number := range numbers {
		err = errors.Join(err, encodeDecimal(to, number))
	}
	return err
}

// encodeDecimal writes a number in the binary form of the decimal package.
func encodeDecimal(to *msgpack.Encoder, number decimal.Decimal) error {
	text, err := number.MarshalBinary()
	return errors.Join(err, to.EncodeBytes(text))
}

// encodeTime writes a time as milliseconds, or nil.
func encodeTime(to *msgpack.Encoder, at *governance.Timestamp) error {
	if at == nil {
		return to.EncodeNil()
	}
	return to.EncodeInt64(int64(*at))
}
