package importer

import (
	"context"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// shardCount is how many batches are compared and written concurrently: while the
	// engine inserts one batch, the next is compared with what the warehouse holds.
	shardCount = 2
	// chunkRecords is the maximum number of records that the reader sends to a shard
	// at once, and maxChunkText the maximum size of their texts in bytes.
	chunkRecords = 256
	maxChunkText = 128 << 10
	// maxQueuedChunks bounds the queue of a shard; the reader blocks when it is full.
	// It holds about a batch, so that a shard can continue as soon as a batch is
	// written.
	maxQueuedChunks = 256
)

// shards write records concurrently with the reader. All records with one key go
// through one shard in their order. So the last of them wins, and a shard never looks up
// a key that another is writing.
type shards struct {
	all     []*shard
	running *errgroup.Group
	// ctx ends when a shard fails.
	ctx context.Context
}

// shard is one concurrent writer. The reader owns filling and fillingText; the shard's
// goroutine owns pending, counts and batchSize until shards.close returns.
type shard struct {
	*importRun
	// filling is the chunk that the reader fills, fillingText its text in bytes.
	filling     []record.Record
	fillingText int
	chunks      chan chunk
	// pending holds the records that wait to be written.
	pending map[record.Kind]*pending
	counts  map[record.Kind]records.Counts
	// batchSize is the number of records of the next batch.
	batchSize int
}

// chunk is a group of records on its way to a shard. If flushed is set, the shard
// writes everything it has received and then closes flushed.
type chunk struct {
	records []record.Record
	flushed chan<- struct{}
}

// pending are the records of one kind that wait to be written, and the size of their
// texts in bytes.
type pending struct {
	records []record.Record
	text    int
}

// startShards starts the shards. The caller must call close.
func (r *importRun) startShards(ctx context.Context) *shards {
	s := &shards{}
	s.running, s.ctx = errgroup.WithContext(ctx)
	for i := range shardCount {
		next := &shard{
			importRun: r, chunks: make(chan chunk, maxQueuedChunks),
			pending: map[record.Kind]*pending{}, counts: map[record.Kind]records.Counts{},
			// The first batches are small, so that the engine begins early, and differ in size, so
			// that shards write at different times.
			batchSize: max(r.BatchSize*(i+1)/(2*shardCount), 1),
		}
		s.all = append(s.all, next)
		s.running.Go(func() error { return next.run(s.ctx) })
	}
	return s
}

// add sends a record to its shard. An error means that a shard has failed; close
// returns the cause.
func (s *shards) add(r record.Record) error {
	to := s.all[shardOf(r)]
	to.filling = append(to.filling, r)
	to.fillingText += textBytes(r)
	if len(to.filling) < chunkRecords && to.fillingText < maxChunkText {
		return nil
	}
	return s.send(to, nil)
}

// shardOf returns the shard of a record. It distributes ballots and what tokens state by voter,
// which is part of their key. Other records are few and share the first shard.
func shardOf(r record.Record) int {
	var voter string
	switch r := r.(type) {
	case *record.Ballot:
		voter = r.Voter
	case *record.Delegation:
		voter = r.Delegator
	case *record.DelegatePower:
		voter = r.Delegate
	default:
		return 0
	}
	return int(xxhash.Sum64String(voter) % shardCount)
}

func (s *shards) send(to *shard, flushed chan<- struct{}) error {
	select {
	case to.chunks <- chunk{to.filling, flushed}:
		to.filling, to.fillingText = make([]record.Record, 0, chunkRecords), 0
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// flush returns when everything that was added is written.
func (s *shards) flush() error {
	waiting := make([]chan struct{}, len(s.all))
	for i, to := range s.all {
		waiting[i] = make(chan struct{})
		if err := s.send(to, waiting[i]); err != nil {
			return err
		}
	}
	for _, flushed := range waiting {
		select {
		case <-flushed:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
	return nil
}

// close flushes, ends the shards and returns the error of the first that failed.
func (s *shards) close() error {
	flushErr := s.flush()
	for _, to := range s.all {
		close(to.chunks)
	}
	if err := s.running.Wait(); err != nil {
		return err
	}
	return flushErr
}

// run writes records until chunks is closed.
func (s *shard) run(ctx context.Context) error {
	for next := range s.chunks {
		for _, r := range next.records {
			if err := s.add(ctx, r); err != nil {
				return err
			}
		}
		if next.flushed == nil {
			continue
		}
		if err := s.flushAll(ctx); err != nil {
			return err
		}
		close(next.flushed)
	}
	return nil
}

// add adds a record to its batch and writes the batch if it is full.
func (s *shard) add(ctx context.Context, r record.Record) error {
	kind := r.Kind()
	waiting := s.pending[kind]
	if waiting == nil {
		waiting = &pending{}
		s.pending[kind] = waiting
	}
	waiting.records = append(waiting.records, r)
	waiting.text += textBytes(r)
	if len(waiting.records) < s.batchSize && waiting.text < maxBatchText {
		return nil
	}
	return s.flush(ctx, kind)
}

// flushAll writes all pending records in import order.
func (s *shard) flushAll(ctx context.Context) error {
	for _, kind := range record.Kinds() {
		if err := s.flush(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

func (s *shard) flush(ctx context.Context, kind record.Kind) error {
	waiting := s.pending[kind]
	if waiting == nil || len(waiting.records) == 0 {
		return nil
	}
	counts, err := s.append(ctx, waiting.records)
	if err != nil {
		return err
	}
	total := s.counts[kind]
	total.Add(counts)
	s.counts[kind] = total
	s.Progress.addRecords(len(waiting.records))
	clear(waiting.records)
	waiting.records, waiting.text = waiting.records[:0], 0
	s.batchSize = s.BatchSize
	return nil
}

// textBytes estimates the memory of a record's texts in bytes.
func textBytes(r record.Record) int {
	switch r := r.(type) {
	case *record.Proposal:
		return len(r.Body) + len(r.Title)
	case *record.Topic:
		return len(r.BodyHTML) + len(r.Title)
	case *record.Ballot:
		return len(r.Reason) + len(r.RawChoice)
	case *record.Evidence:
		return len(r.Dossier)
	case *record.Action:
		return len(r.Calldata)
	}
	return 0
}
