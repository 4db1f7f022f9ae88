package importer

import (
	"context"
	"maps"
	"slices"
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

// areKnown reports whether the file is known to lack ballots.
func (g *fileGaps) areKnown() bool {
	return g.lacksSome || slices.Contains(slices.Collect(maps.Values(g.proposals)), true)
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
	if action, is := read.(*record.Action); is && action.Index < record.MaxActions {
		ref := action.Proposal.Hash()
		if f.unreadActions[ref] == nil {
			f.unreadActions[ref] = map[uint32]record.Record{}
		}
		f.unreadActions[ref][action.Index] = &record.Action{Proposal: action.Proposal, Index: action.Index, Value: "0"}
	}
}

// writeUnreadActions writes an action without a target where one was rejected and none is held, so that none is missing.
func (r *importRun) writeUnreadActions(ctx context.Context) error {
	if len(r.unreadActions) == 0 {
		return nil
	}
	held, err := records.AllActions(ctx, r.Warehouse, slices.Collect(maps.Keys(r.unreadActions)))
	if err != nil {
		return err
	}
	var unread []record.Record
	for ref, actions := range r.unreadActions {
		for _, action := range held[ref] {
			delete(actions, action.Index)
		}
		unread = slices.AppendSeq(unread, maps.Values(actions))
	}
	_, err = r.append(ctx, batch{records: unread})
	return err
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
