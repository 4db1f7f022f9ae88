package record

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// Fingerprint returns a hash of all fields of a record, the same on every machine. Records with equal fingerprints
// are considered equal; a change of the encoding would import every record again.
func Fingerprint(r any) uint64 {
	content, err := msgpack.Marshal(r)
	if err != nil {
		panic(fmt.Errorf("fingerprint of a %T: %w", r, err)) // a type with a field that has no encoding
	}
	return xxhash.Sum64(content)
}
