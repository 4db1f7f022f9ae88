package importer

import (
	"context"
	"time"

	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// fileGaps are what a file has of ballots, and lacks.
type fileGaps struct {
	// proposals has the proposals of its ballots: true for one with a rejected ballot. lacksSome says that it lacks
	// ballots that may be on any of them.
	proposals map[record.RefHash]bool
	lacksSome bool
	// last is its last ballot, on proposal at, which is of; met are the last ballots of files with open gaps that
	// it has too, and 0, the last of a file without any.
	last uint64
	at   record.RefHash
	of   record.ProposalRef
	met  map[uint64]bool
}

func (f *fileImport) noteBallot(b *record.Ballot) {
	g := f.gaps
	if b.Proposal != g.of {
		g.of, g.at = b.Proposal, b.Proposal.Hash()
		if !g.proposals[g.at] {
			g.proposals[g.at] = false
		}
	}
	g.last = records.BallotHash(g.at, b.Voter)
	if f.openGaps[g.last] != nil {
		g.met[g.last] = true
	}
}

// noteReject notes a line of a file of some kind. read is what could be read of it; nil for nothing.
func (f *fileImport) noteReject(read record.Record, kind record.Kind) {
	if ballot, is := read.(*record.Ballot); is && ballot.Proposal.ExternalID != "" {
		f.gaps.proposals[ballot.Proposal.Hash()] = true
	} else if is || read == nil && kind == record.KindBallot {
		f.gaps.lacksSome = true
	}
}

// writeGaps opens the gaps of the files, and closes those that one fills and none has, after the records are
// written. An import that stopped may not have written all that it read of a file.
func (r *importRun) writeGaps(ctx context.Context, stopped bool) error {
	const timeout = 10 * time.Second // bounds how long an import that stops takes
	if stopped {
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
	}
	changed := map[records.BallotGap]bool{}
	if !stopped {
		for _, gap := range r.run.Unread.Gaps() {
			changed[gap] = false
		}
	}
	for _, file := range r.files {
		for last := range file.met {
			for proposal := range r.openGaps[last] {
				lacks, has := file.proposals[proposal]
				gap := records.BallotGap{Proposal: proposal, LastBallot: last}
				if !lacks && !file.lacksSome && !stopped && (has || last != 0) && !changed[gap] {
					changed[gap] = false
				}
			}
		}
		for proposal, lacks := range file.proposals {
			if lacks || file.lacksSome || stopped {
				changed[records.BallotGap{Proposal: proposal, LastBallot: file.last}] = true
			}
		}
	}
	return r.retry(ctx, func() error { return records.WriteBallotGaps(ctx, r.Warehouse, r.run, changed) })
}
