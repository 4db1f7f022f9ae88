package httpcache

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Packed is an answer in gzip, compressed once for all requests, but for the members of meta that differ between
// requests: they are an uncompressed block of deflate between head and tail.
type Packed struct {
	// Head is the beginning of the file, and tail its last block of deflate.
	Head, tail []byte
	// sum and length belong to the text of head, and tailText is the text of tail.
	sum      uint32
	length   int
	tailText []byte
}

var flaters = sync.Pool{New: func() any { //nolint:gochecknoglobals // a pool is a cache of memory
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // it fails for an unknown level
	return w
}}

// Pack compresses the texts before and after what differs between requests.
func Pack(text, tailText []byte) (*Packed, error) {
	const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff" // begins a gzip file without a name and a time, compressed for speed
	w, _ := flaters.Get().(*flate.Writer)
	defer flaters.Put(w)
	var head, tail bytes.Buffer
	head.Grow(len(text) / 2)
	head.WriteString(gzipHeader)
	w.Reset(&head)
	_, err := w.Write(text)
	if err = cmp.Or(err, w.Flush()); err != nil { // to the end of a byte, where a stored block begins
		return nil, fmt.Errorf("compress an answer: %w", err)
	}
	w.Reset(&tail)
	_, err = w.Write(tailText)
	if err = cmp.Or(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress the end of an answer: %w", err)
	}
	return &Packed{head.Bytes(), tail.Bytes(), crc32.ChecksumIEEE(text), len(text), tailText}, nil
}

// AppendRest appends what follows head; appendMeta appends what differs between requests, at most 64 KiB.
func (p *Packed) AppendRest(file []byte, appendMeta func([]byte) []byte) []byte {
	const storedHeaderBytes = 5                             // what precedes the text of a block of deflate that is not compressed
	file = append(file, make([]byte, storedHeaderBytes)...) // its kind, and its length twice
	begin := len(file)
	file = appendMeta(file)
	text := file[begin:]
	length := uint16(len(text)) //nolint:gosec // an id and a time
	binary.LittleEndian.PutUint16(file[begin-4:], length)
	binary.LittleEndian.PutUint16(file[begin-2:], ^length)
	sum := crc32.Update(crc32.Update(p.sum, crc32.IEEETable, text), crc32.IEEETable, p.tailText)
	size := p.length + len(text) + len(p.tailText)
	file = append(file, p.tail...)
	file = binary.LittleEndian.AppendUint32(file, sum)
	return binary.LittleEndian.AppendUint32(file, uint32(size)) //nolint:gosec // the format has 32 bits
}
