package warehouse

import (
	"hash/maphash"
	"slices"
	"sync"

	"pnyx/warehouse/record"
)

// maxWrittenKeys bounds the memory of WrittenKeys to about 80 MB.
const maxWrittenKeys = 4_000_000

// WrittenKeys remembers what an import has written where nothing was stored before, such as
// the ballots of a new proposal. Other records there are known to be new: without it, every
// batch of a large vote is compared with all the batches before. It is safe for concurrent
// use.
//
// It does not know what another process writes to the same proposal meanwhile. Of two versions
// of a record the later one counts, as for imports that run one after the other.
type WrittenKeys struct {
	mu   sync.Mutex
	seed maphash.Seed
	// written has the hashes of the keys that were written, by what nothing was stored under.
	written map[keyPrefix]map[uint64]struct{}
	total   int
	// max is the maximum of total. When it is reached, everything is forgotten, and looked up
	// again.
	max int
}

// keyPrefix is the first value of keys of one kind.
type keyPrefix struct {
	kind  record.Kind
	first string
}

// NewWrittenKeys returns a WrittenKeys that remembers nothing yet.
func NewWrittenKeys() *WrittenKeys {
	return &WrittenKeys{seed: maphash.MakeSeed(), written: map[keyPrefix]map[uint64]struct{}{}, max: maxWrittenKeys}
}

// knows reports whether nothing was stored under a prefix before the import.
func (w *WrittenKeys) knows(kind record.Kind, first string) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written[keyPrefix{kind, first}] != nil
}

// begin tells that nothing is stored under a prefix.
func (w *WrittenKeys) begin(kind record.Kind, first string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if prefix := (keyPrefix{kind, first}); w.written[prefix] == nil {
		w.written[prefix] = map[uint64]struct{}{}
	}
}

// write returns those of some keys that may be stored, and remembers all, because the caller
// is about to write them and may have to try again. stored says of first values whether
// anything is stored under them.
func (w *WrittenKeys) write(kind record.Kind, keys []record.Key, stored map[string]bool) (possible []record.Key) {
	if w == nil {
		return slices.DeleteFunc(slices.Clone(keys), func(key record.Key) bool { return !stored[key[0]] })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var first string
	var written map[uint64]struct{}
	var isNew bool
	for i, key := range keys {
		// Keys with one first value mostly follow each other.
		if i == 0 || key[0] != first {
			first = key[0]
			exists, asked := stored[first]
			written, isNew = w.written[keyPrefix{kind, first}], asked && !exists
		}
		if written == nil {
			if !isNew {
				possible = append(possible, key)
			}
			continue
		}
		hash := maphash.Comparable(w.seed, key)
		if _, again := written[hash]; again {
			possible = append(possible, key)
			continue
		}
		written[hash] = struct{}{}
		w.total++
	}
	if w.total > w.max {
		clear(w.written)
		w.total = 0
	}
	return possible
}
