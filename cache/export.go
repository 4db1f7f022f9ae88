package cache

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
)

const (
	// ExportTTL is how long a sorted copy is kept after an export of it was begun last.
	ExportTTL = 30 * time.Minute
	// maxExports bounds the copies kept for exports. Beyond it, an export of an open vote lasts about a minute.
	maxExports = 64
)

// Export is an export that reads a sorted copy, or has read it a while ago.
type Export struct {
	Proposal   governance.ProposalKey
	Generation uint64
	Begun      time.Time
}

// KeepExport keeps a sorted copy because an export of it was begun. The copy has to be current, or kept already.
func (s *Store) KeepExport(ctx context.Context, proposal governance.ProposalKey, generation uint64) error {
	now := time.Now()
	key, member := string(exportsKey), fmt.Sprintf("%d %s", generation, proposal)
	return WrapError(Pipelined(ctx, s.conn, func(pipe redis.Pipeliner) {
		pipe.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now.UnixMilli(), 10))
		pipe.ZAdd(ctx, key, redis.Z{Score: float64(now.Add(ExportTTL).UnixMilli()), Member: member})
		pipe.ZRemRangeByRank(ctx, key, maxExports, -1)
		pipe.PExpire(ctx, key, ExportTTL)
	}))
}

// Exports returns the exports whose sorted copies are kept, the oldest first.
func (s *Store) Exports(ctx context.Context) ([]Export, error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	members, err := Client(s.conn).ZRangeByScoreWithScores(ctx, string(exportsKey), &redis.ZRangeBy{
		Min: strconv.FormatInt(time.Now().UnixMilli(), 10), Max: "+inf",
	}).Result()
	if err != nil {
		return nil, WrapError(err)
	}
	exports := make([]Export, 0, len(members))
	for _, member := range members {
		text, _ := member.Member.(string)
		number, proposal, _ := strings.Cut(text, " ")
		generation, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			continue // of another version
		}
		exports = append(exports, Export{
			Proposal: governance.ProposalKey(proposal), Generation: generation,
			Begun: time.UnixMilli(int64(member.Score)).Add(-ExportTTL),
		})
	}
	return exports, nil
}
