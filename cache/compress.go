package cache

import (
	"fmt"

	"github.com/klauspost/compress/s2"
)

const (
	// minCompressed is the size in bytes below which compression of a view saves little.
	minCompressed = 512
	// maxCompressed is the size in bytes up to which a view is compressed, and the limit of decompression: a
	// corrupt view must not allocate all memory.
	maxCompressed = 64 << 20
	// compressedMark starts a compressed view. It is a code that msgpack never uses.
	compressedMark = 0xc1
)

// compress returns content as stored. S2 saves 40 % of a proposal and decompresses in
// less than a microsecond; zstd would save another tenth at eight times the cost.
func compress(content []byte) []byte {
	if len(content) < minCompressed || len(content) > maxCompressed {
		return content
	}
	stored := make([]byte, 1+s2.MaxEncodedLen(len(content)))
	stored[0] = compressedMark
	if stored = stored[:1+len(s2.EncodeBetter(stored[1:], content))]; len(stored) >= len(content)*9/10 {
		return content
	}
	return stored
}

func decompress(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != compressedMark {
		return stored, nil
	}
	size, err := s2.DecodedLen(stored[1:])
	if err != nil || size > maxCompressed {
		return nil, fmt.Errorf("%w: compressed size %d, want at most %d", ErrCorrupt, size, maxCompressed)
	}
	content, err := s2.Decode(nil, stored[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return content, nil
}
