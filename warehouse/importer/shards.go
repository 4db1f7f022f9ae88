package importer

import (
	"context"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// shardCount is how many batches are compared and written concurrently: while the engine inserts
// one batch, the next is compared with what the warehouse holds.
const shardCount = 2

// shards write records concurrently with the reader. All records with one key go through one shard, in order: the
// last one wins, and no shard looks up a key that another is writing.
type shards struct {
	*importRun
	all     []*shard
	running *errgroup.Group
	// sent says that a batch was sent.
	sent bool
	// ctx ends when a shard fails.
	ctx context.Context
}

// shard is one concurrent writer. The reader owns pending and batchSize; the shard's goroutine
// owns counts until shards.close returns.
type shard struct {
	pending   map[record.Kind]*pending
	batchSize int // of the next batch
	// batches has the batches to write. The reader blocks while one is written and the next is full.
	batches chan batch
	counts  map[record.Kind]records.Counts
}

// batch has records of one kind. A whole one has all that the shards write.
type batch struct {
	records []record.Record
	whole   bool
}

// pending are the records of one kind that wait to be sent, and the size of their texts in bytes.
type pending struct {
	records []record.Record
	text    int
}

// startShards starts the shards. The caller must call close.
func (r *importRun) startShards(ctx context.Context) *shards {
	s := &shards{importRun: r}
	s.running, s.ctx = errgroup.WithContext(ctx)
	for i := range shardCount {
		next := &shard{
			batches: make(chan batch), pending: map[record.Kind]*pending{}, counts: map[record.Kind]records.Counts{},
			// The first batches are small, so that the engine begins early, and differ in size, so
			// that shards write at different times.
			batchSize: max(r.BatchSize*(i+1)/(2*shardCount), 1),
		}
		s.all = append(s.all, next)
		s.running.Go(func() error { return s.write(next) })
	}
	return s
}

// add adds a record to the batch of its shard, and sends the batch if it is full. An error means
// that a shard has failed; close returns the cause.
func (s *shards) add(r record.Record) error {
	to, kind := s.all[shardOf(r)], r.Kind()
	waiting := to.pending[kind]
	if waiting == nil {
		waiting = &pending{}
		to.pending[kind] = waiting
	}
	waiting.records = append(waiting.records, r)
	waiting.text += textBytes(r)
	if len(waiting.records) < to.batchSize && waiting.text < maxBatchText {
		return nil
	}
	return s.send(to, waiting, false)
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

func (s *shards) send(to *shard, waiting *pending, whole bool) error {
	s.sent = true
	select {
	case to.batches <- batch{records: waiting.records, whole: whole}:
		*waiting, to.batchSize = pending{records: make([]record.Record, 0, len(waiting.records))}, s.BatchSize
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// close writes what waits, in import order, ends the shards and returns the error of the first
// that failed. Ballots of which none was sent are one batch: no reader sees a part of them.
func (s *shards) close() (err error) {
	whole := !s.sent
	for _, kind := range record.Kinds() {
		rest := &pending{}
		for _, to := range s.all {
			waiting := to.pending[kind]
			switch {
			case err != nil || waiting == nil || len(waiting.records) == 0:
			case whole && kind == record.KindBallot:
				rest.records = append(rest.records, waiting.records...)
			default:
				err = s.send(to, waiting, false)
			}
		}
		if err == nil && len(rest.records) > 0 {
			err = s.send(s.all[0], rest, true)
		}
	}
	for _, to := range s.all {
		close(to.batches)
	}
	if failed := s.running.Wait(); failed != nil {
		return failed
	}
	for _, shard := range s.all {
		for kind, counts := range shard.counts {
			s.kindReport(kind).Add(counts)
		}
	}
	return err
}

// write writes the batches of a shard until there are no more.
func (s *shards) write(from *shard) error {
	for batch := range from.batches {
		counts, err := s.append(s.ctx, batch)
		if err != nil {
			return err
		}
		kind := batch.records[0].Kind()
		total := from.counts[kind]
		total.Add(counts)
		from.counts[kind] = total
		s.Progress.records.Add(int64(len(batch.records)))
	}
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
