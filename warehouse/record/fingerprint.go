package record

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// Fingerprint returns a hash of all fields of a record, the same on every machine. Records with equal fingerprints
// are considered equal; a change of the encoding would import every record again.
func Fingerprint(r Record) (uint64, error) {
	content, err := msgpack.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("fingerprint record of %s: %w", r.Kind(), err)
	}
	return xxhash.Sum64(content), nil
}
