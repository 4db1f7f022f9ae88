package publish

import (
	"context"

	"golang.org/x/sync/errgroup"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// chunk is some of a publication's proposals: what is read of them, and worked out.
type chunk struct {
	refs        []record.RefHash
	assessments []assessment
	// before are the identities under which they were published, listed the versions in
	// which lists show them.
	before map[record.RefHash]governance.Identity
	listed map[record.RefHash]warehouse.ListedVersion
}

// publishProposals works the proposals out, chunk by chunk, and writes each chunk
// while the next one is read. At most two are in memory.
func (p *publication) publishProposals(ctx context.Context, refs []record.RefHash) error {
	casts, err := p.worker.warehouse.Casts(ctx, refs)
	if err != nil {
		return err
	}
	beside, ctx := errgroup.WithContext(ctx)
	read := make(chan *chunk)
	beside.Go(func() error {
		defer close(read)
		for _, refs := range divide(refs, casts) {
			next, err := p.readChunk(ctx, refs)
			if err != nil {
				return err
			}
			select {
			case read <- next:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	beside.Go(func() error {
		for next := range read {
			if err := p.publishChunk(ctx, next); err != nil {
				return err
			}
		}
		return nil
	})
	return beside.Wait()
}

// divide cuts the proposals into chunks of so many proposals or casts at the most.
// One that alone has more casts is a chunk by itself.
func divide(refs []record.RefHash, casts map[record.RefHash]uint64) (chunks [][]record.RefHash) {
	var begin int
	var held uint64
	for i, ref := range refs {
		if i > begin && (i-begin == proposalsAtOnce || held+casts[ref] > castsAtOnce) {
			chunks = append(chunks, refs[begin:i])
			begin, held = i, 0
		}
		held += casts[ref]
	}
	if begin < len(refs) {
		chunks = append(chunks, refs[begin:])
	}
	return chunks
}

// readChunk reads proposals with what was published of them, and works them out.
func (p *publication) readChunk(ctx context.Context, refs []record.RefHash) (*chunk, error) {
	c := &chunk{refs: refs}
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() (err error) {
		c.assessments, err = p.assess(ctx, refs)
		return err
	})
	reading.Go(func() (err error) {
		if c.before, err = p.worker.warehouse.PublishedIdentities(ctx, refs); err != nil {
			return err
		}
		c.listed, err = p.worker.warehouse.ListedVersions(ctx, refs)
		return err
	})
	return c, reading.Wait()
}
