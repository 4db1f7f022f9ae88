package cache

import (
	"fmt"
	"strconv"
	"time"
)

// RevisionDigits is the width of the revision that starts every stored value, in decimal digits:
// scripts compare it without decoding the rest. A clock of microseconds fits until the year 2286.
const RevisionDigits = 16

// MaxRevisionLead is how far a stored revision may be ahead of the writer's and of the clock of Redis. Revisions
// follow the clock, and no paused worker writes this late: one further ahead was not given by a publisher. Kept,
// it would hide every publication until then.
const MaxRevisionLead = tombstoneTTL

// IsNewerFunction begins a script with the Lua function is_newer(value, revision): whether a
// stored value has a revision that is newer and could have been given by a publisher. It is
// short because it is sent with every write.
//
//nolint:gochecknoglobals // a constant expression but for Itoa
var IsNewerFunction = `
local function is_newer(value, revision)
local stored = type(value) == 'string' and tonumber(string.sub(value, 1, ` + strconv.Itoa(RevisionDigits) + `))
revision = tonumber(revision)
if not stored or stored <= revision then return false end
local time = redis.call('TIME')
return stored <= math.max(revision, time[1] * 1000000 + time[2]) + ` +
	strconv.FormatInt(MaxRevisionLead.Microseconds(), 10) + `
end
`

// revisionGuard starts a script that must not replace a revision newer than ARGV[1] at
// KEYS[1]. What is no string there is replaced.
//
//nolint:gochecknoglobals // a constant expression but for Itoa
var revisionGuard = IsNewerFunction + `
if is_newer(redis.pcall('GETRANGE', KEYS[1], 0, ` + strconv.Itoa(RevisionDigits-1) + `), ARGV[1]) then return 0 end`

// IsTooFarAhead reports whether a revision is ahead of a time by more than MaxRevisionLead.
func IsTooFarAhead(revision uint64, now time.Time) bool {
	return revision > uint64(now.Add(MaxRevisionLead).UnixMicro())
}

// NextRevision returns a revision by the clock, later than the last one unless that is too far ahead.
func NextRevision(now time.Time, last uint64) uint64 {
	if IsTooFarAhead(last, now) {
		last = 0
	}
	return max(uint64(now.UnixMicro()), last+1)
}

// EncodeRevision returns the revision as it starts a stored value.
func EncodeRevision(revision uint64) []byte {
	return fmt.Appendf(nil, "%0*d", RevisionDigits, revision)
}

// DecodeRevision returns the revision that starts a stored value. The error is ErrMiss and ErrCorrupt.
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
