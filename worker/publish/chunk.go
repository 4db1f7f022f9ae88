package publish

import (
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Bounds of what is evaluated together: enough that a query is worth its overhead, few
// enough to bound memory and the rows that one query reads.
const (
	proposalBatchSize = 4000
	maxCasts          = 1_000_000
	daoBatchSize      = 200
)

// chunk is some of a publication's proposals, evaluated.
type chunk struct {
	refs        []record.RefHash
	evaluations []evaluation
	// identities are those under which the proposals were published before, and listed the
	// versions that lists show.
	identities map[record.RefHash]governance.Identity
	listed     map[record.RefHash]warehouse.ListedVersion
}

// divide splits proposals into chunks of at most proposalBatchSize proposals and maxCasts
// casts. A proposal that alone has more casts is a chunk by itself.
func divide(
	refs []record.RefHash, casts map[record.RefHash]uint64,
) (chunks [][]record.RefHash) {
	var begin int
	var total uint64
	for i, ref := range refs {
		if i > begin && (i-begin == proposalBatchSize || total+casts[ref] > maxCasts) {
			chunks = append(chunks, refs[begin:i])
			begin, total = i, 0
		}
		total += casts[ref]
	}
	if begin < len(refs) {
		chunks = append(chunks, refs[begin:])
	}
	return chunks
}
