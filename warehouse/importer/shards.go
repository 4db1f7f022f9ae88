package importer

import (
	"context"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

const (
	// shardCount is how many batches are worked out and written at a time: while the
	// engine takes one in, the next is held against what it holds.
	shardCount = 2
	// chunkRecords is how many records go from the reader to a lane at once, and
	// maxChunkText the bytes of text above which there are fewer.
	chunkRecords = 256
	maxChunkText = 128 << 10
	// maxQueuedChunks is how many of these a busy lane lets wait before the reader does:
	// about a batch, so that there is one to write when the one before is written.
	maxQueuedChunks = 128
)

// shards write records beside their reader. All records of one key go through the
// same lane, in their order: so the last one counts, and none is looked up while an
// equal one is being written.
type shards struct {
	all     []*shard
	running *errgroup.Group
	// ctx ends when a lane has.
	ctx context.Context
}

// shard is one of the writers. Its fields but parcels belong to its goroutine until
// the lanes are closed.
type shard struct {
	*importRun
	// filling is the parcel that the reader fills, and its text.
	filling     []record.Record
	fillingText int
	chunks      chan chunk
	pending     map[record.Kind]*pending
	counts      map[record.Kind]warehouse.Counts
	// batchSize is how many records it writes next.
	batchSize int
}

// chunk is some records; flushed, where it is set, is closed when these and all
// before them are written.
type chunk struct {
	records []record.Record
	flushed chan<- struct{}
}

// pending are the records of one kind that wait to be written.
type pending struct {
	records []record.Record
	text    int
}

func (r *importRun) startShards(ctx context.Context) *shards {
	l := &shards{}
	l.running, l.ctx = errgroup.WithContext(ctx)
	for i := range shardCount {
		next := &shard{
			importRun: r, chunks: make(chan chunk, maxQueuedChunks),
			pending: map[record.Kind]*pending{}, counts: map[record.Kind]warehouse.Counts{},
			// The first batches differ, so that lanes do not write at the same time.
			batchSize: max(r.BatchSize*(i+1)/shardCount, 1),
		}
		l.all = append(l.all, next)
		l.running.Go(func() error { return next.run(l.ctx) })
	}
	return l
}

// add hands a record to its lane. An error means that some lane has ended; close
// tells why.
func (l *shards) add(r record.Record) error {
	lane := l.all[shardOf(r)]
	lane.filling = append(lane.filling, r)
	lane.fillingText += textBytes(r)
	if len(lane.filling) < chunkRecords && lane.fillingText < maxChunkText {
		return nil
	}
	return l.send(lane, nil)
}

// shardOf spreads ballots by their voter, which is part of their key. Of other
// records there are few.
func shardOf(r record.Record) int {
	if ballot, ok := r.(*record.Ballot); ok {
		return int(xxhash.Sum64String(ballot.Voter) % shardCount)
	}
	return 0
}

func (l *shards) send(to *shard, flushed chan<- struct{}) error {
	select {
	case to.chunks <- chunk{to.filling, flushed}:
		to.filling, to.fillingText = make([]record.Record, 0, chunkRecords), 0
		return nil
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

// flush returns when everything that was added is written.
func (l *shards) flush() error {
	waiting := make([]chan struct{}, len(l.all))
	for i, lane := range l.all {
		waiting[i] = make(chan struct{})
		if err := l.send(lane, waiting[i]); err != nil {
			return err
		}
	}
	for _, flushed := range waiting {
		select {
		case <-flushed:
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
	}
	return nil
}

// close writes everything that was added, ends the lanes, and returns what went wrong
// in the first that failed.
func (l *shards) close() error {
	stopped := l.flush()
	for _, lane := range l.all {
		close(lane.chunks)
	}
	if err := l.running.Wait(); err != nil {
		return err
	}
	return stopped
}

// run writes until there are no more parcels.
func (l *shard) run(ctx context.Context) error {
	for next := range l.chunks {
		for _, r := range next.records {
			if err := l.add(ctx, r); err != nil {
				return err
			}
		}
		if next.flushed == nil {
			continue
		}
		if err := l.flushAll(ctx); err != nil {
			return err
		}
		close(next.flushed)
	}
	return nil
}

func (l *shard) add(ctx context.Context, r record.Record) error {
	kind := r.Kind()
	waiting := l.pending[kind]
	if waiting == nil {
		waiting = &pending{}
		l.pending[kind] = waiting
	}
	waiting.records = append(waiting.records, r)
	waiting.text += textBytes(r)
	if len(waiting.records) < l.batchSize && waiting.text < maxBatchText {
		return nil
	}
	return l.flush(ctx, kind)
}

func (l *shard) flushAll(ctx context.Context) error {
	for _, kind := range record.Kinds() {
		if err := l.flush(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

func (l *shard) flush(ctx context.Context, kind record.Kind) error {
	waiting := l.pending[kind]
	if waiting == nil || len(waiting.records) == 0 {
		return nil
	}
	counts, err := l.append(ctx, waiting.records)
	if err != nil {
		return err
	}
	total := l.counts[kind]
	total.Add(counts)
	l.counts[kind] = total
	l.Progress.wrote(len(waiting.records))
	clear(waiting.records)
	waiting.records, waiting.text = waiting.records[:0], 0
	l.batchSize = l.BatchSize
	return nil
}
