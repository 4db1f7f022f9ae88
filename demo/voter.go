package demo

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// theDelegate is the one voter who takes part everywhere.
const theDelegate voterID = 0

// voterID names a voter. The zero ID is the delegate; others live in one DAO, or
// are shared between DAOs.
type voterID uint64

// address is the account of a voter.
type address struct {
	bytes [20]byte
	// upper has a bit for each digit that is written in upper case, the way a
	// checksum would.
	upper uint64
}

// addressOf returns the account of a voter, a function of the seed alone.
func addressOf(key uint64, voter voterID) address {
	var a address
	key = keyOf(key, uint64(voter))
	binary.BigEndian.PutUint64(a.bytes[:], mix(key+1))
	binary.BigEndian.PutUint64(a.bytes[8:], mix(key+2))
	binary.BigEndian.PutUint64(a.bytes[12:], mix(key+3))
	a.upper = mix(key + 4)
	return a
}

// append appends the account in the mixed case of a checksum.
func (a address) append(text []byte) []byte {
	text = append(text, "0x"...)
	upper := a.upper
	for _, b := range a.bytes {
		text = append(text, digit(b>>4, upper), digit(b&15, bits.RotateLeft64(upper, -1)))
		upper = bits.RotateLeft64(upper, -2)
	}
	return text
}

// appendLower appends the account in lower case, as chain indexers do.
func (a address) appendLower(text []byte) []byte {
	a.upper = 0
	return a.append(text)
}

// String returns the account in the mixed case of a checksum.
func (a address) String() string {
	return string(a.append(nil))
}

// lower returns the account in lower case.
func (a address) lower() string {
	return string(a.appendLower(nil))
}

// digit returns a hexadecimal digit, in upper case where the lowest bit of upper
// is set.
func digit(value byte, upper uint64) byte {
	if upper&1 == 1 {
		return "0123456789ABCDEF"[value]
	}
	return "0123456789abcdef"[value]
}

// appendHash appends 256 bits as a transaction or message hash is written.
func appendHash(text []byte, words [4]uint64) []byte {
	var bytes [32]byte
	for i, word := range words {
		binary.BigEndian.PutUint64(bytes[i*8:], word)
	}
	return hex.AppendEncode(append(text, "0x"...), bytes[:])
}

// drawHash draws the words of a hash.
func drawHash(d dice) [4]uint64 {
	return [4]uint64{d.Uint64(), d.Uint64(), d.Uint64(), d.Uint64()}
}

// sharedSeat is how many ranks of a DAO lie between two voters who are members
// of other DAOs too.
const sharedSeat = 6

// member returns the voter of a rank. Rank 0 votes most often. Every sixth rank
// is held by somebody from a pool that all DAOs share, low numbers of the pool more
// often than high ones; each such seat draws from a stretch of the pool of its
// own, so that nobody holds two ranks.
func (d *dao) member(rank uint64) voterID {
	if rank%sharedSeat != sharedSeat-1 {
		return voterID(natural(d.index+1)<<32 | rank)
	}
	seat := rank / sharedSeat
	first := stretch(seat, d.stretch)
	width := stretch(seat+1, d.stretch) - first
	return voterID(1<<62 | first + keyOf(d.key, forSeat, rank)%width)
}

// stretch returns where a seat's stretch of the shared pool begins.
func stretch(seat, least uint64) uint64 {
	return seat*least + seat*seat/4
}
