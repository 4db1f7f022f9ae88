package cache

import (
	"context"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// DAOExport is a manifest as its page has it: with what each part is made of.
type DAOExport struct {
	governance.DAOExport
	// Oldest is the time from which on changes are known, where Since is before it: there is no manifest then.
	Oldest *governance.Timestamp `msgpack:"oldest"`
	Units  [][]ExportUnit        `msgpack:"units"`
}

// ExportUnit is what is in one part as a whole: a proposal, ballots of one, a topic, or events of a day.
type ExportUnit struct {
	Kind governance.ExportRowKind `msgpack:"k"`
	// Key is the key of the rows; for events their day.
	Key     string         `msgpack:"n"`
	Removed bool           `msgpack:"x,omitempty"`
	Ref     record.RefHash `msgpack:"f,omitempty"`
	// Generation is the sorted copy of ballots; zero for the table itself.
	Generation uint64 `msgpack:"g,omitempty"`
	// Slice counts the units with the same key before this one.
	Slice int    `msgpack:"s,omitempty"`
	Rows  int    `msgpack:"r"`
	Hash  []byte `msgpack:"h"`
	// Final says that the rows are of a vote that is over, all of whose ballots are held.
	Final bool `msgpack:"e,omitempty"`
}

// ReadViews returns several views in one round trip. The error is ErrMiss if one is missing.
func ReadViews(ctx context.Context, s *Store, keys []Key) ([]View, error) {
	replies := make([]*redis.StringCmd, len(keys))
	_ = Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) { // each command has its own error
		for i, key := range keys {
			replies[i] = pipe.Get(ctx, string(key))
		}
	})
	views := make([]View, len(keys))
	for i, reply := range replies {
		value, err := reply.Bytes()
		if err != nil {
			return nil, WrapError(err)
		}
		if views[i], err = decodeView(value); err != nil {
			return nil, err
		}
	}
	return views, nil
}
