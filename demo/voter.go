package demo

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// delegateID is the most active voter, who votes in many DAOs.
const delegateID voterID = 0

// voterID identifies a voter. Zero is delegateID; other voters belong to one DAO or
// to the pool that all DAOs share.
type voterID uint64

type address struct {
	bytes [20]byte
	// upper has a bit for each hexadecimal digit to write in upper case. The pattern
	// resembles a checksum; it is not one.
	upper uint64
}

// addressOf returns the account of a voter. It depends on the key alone.
func addressOf(key uint64, voter voterID) address {
	var a address
	key = deriveKey(key, uint64(voter))
	binary.BigEndian.PutUint64(a.bytes[:], mix(key+1))
	binary.BigEndian.PutUint64(a.bytes[8:], mix(key+2))
	binary.BigEndian.PutUint64(a.bytes[12:], mix(key+3))
	a.upper = mix(key + 4)
	return a
}

// String returns the account in mixed case, as Snapshot publishes it.
func (a address) String() string {
	text, upper := []byte("0x"), a.upper
	for _, b := range a.bytes {
		text = append(text, hexDigit(b>>4, upper), hexDigit(b&15, bits.RotateLeft64(upper, -1)))
		upper = bits.RotateLeft64(upper, -2)
	}
	return string(text)
}

// lower returns the account in lower case, as chain indexers publish it.
func (a address) lower() string {
	a.upper = 0
	return a.String()
}

// hexDigit returns a hexadecimal digit, in upper case if the lowest bit of upper is
// set.
func hexDigit(value byte, upper uint64) byte {
	if upper&1 == 1 {
		return "0123456789ABCDEF"[value]
	}
	return "0123456789abcdef"[value]
}

// hashText returns 256 bits in the notation of a transaction hash.
func hashText(words [4]uint64) string {
	return fmt.Sprintf("0x%016x%016x%016x%016x", words[0], words[1], words[2], words[3])
}

// drawHash draws the 256 bits of a hash.
func drawHash(rng random) [4]uint64 {
	return [4]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}
}

// sharedRankPeriod is the period of ranks whose voters come from the shared pool.
const sharedRankPeriod = 6

// member returns the voter with the given rank in the DAO. Rank 0 votes most often.
// Every sixth rank belongs to a voter of the pool that all DAOs share. Each shared
// rank draws from its own range of the pool, so no voter has two ranks; low pool
// numbers are more frequent than high ones.
func (d *dao) member(rank uint64) voterID {
	if rank%sharedRankPeriod != sharedRankPeriod-1 {
		return voterID(unsigned(d.index+1)<<32 | rank)
	}
	n := rank / sharedRankPeriod
	first := poolStart(n, d.minPoolStep)
	width := poolStart(n+1, d.minPoolStep) - first
	return voterID(1<<62 | first + deriveKey(d.key, streamSharedRank, rank)%width)
}

// poolStart returns where the range of the n-th shared rank begins. Ranges grow with
// n, from minStep upwards.
func poolStart(n, minStep uint64) uint64 {
	return n*minStep + n*n/4
}
