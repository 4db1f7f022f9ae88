package cache

import (
	"fmt"
	"strconv"
)

// RevisionDigits is the width of the revision that starts every stored value, in
// decimal digits: scripts compare it without decoding the rest. A clock of microseconds
// fits until the year 2286.
const RevisionDigits = 16

// revisionGuard starts a script that must not replace a revision newer than ARGV[1] at
// KEYS[1].
//
//nolint:gochecknoglobals // a constant expression but for Itoa
var revisionGuard = `
local stored = tonumber(redis.call('GETRANGE', KEYS[1], 0, ` + strconv.Itoa(RevisionDigits-1) + `))
if stored and stored > tonumber(ARGV[1]) then return 0 end`

// EncodeRevision returns the revision as it starts a stored value.
func EncodeRevision(revision uint64) []byte {
	return fmt.Appendf(nil, "%0*d", RevisionDigits, revision)
}

// DecodeRevision returns the revision that starts a stored value. The error is ErrMiss
// and ErrCorrupt.
func DecodeRevision(value []byte) (uint64, error) {
	if len(value) < RevisionDigits {
		return 0, fmt.Errorf("%w: %w: %d bytes", ErrMiss, ErrCorrupt, len(value))
	}
	revision, err := strconv.ParseUint(string(value[:RevisionDigits]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %w: no revision", ErrMiss, ErrCorrupt)
	}
	return revision, nil
}
