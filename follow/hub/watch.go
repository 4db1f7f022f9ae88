package hub

import (
	"context"
	"maps"
	"slices"

	"pnyx/warehouse/records"
)

// due is a proposal whose votes have to be read.
type due struct {
	space, id string
	votes     uint64
}

// watcher is the poller of the proposals that may still change.
type watcher struct{ *reader }

// enqueue asks for walks, which the poller close makes one after another.
func (p *reader) enqueue(poller string, dues []due) {
	for _, d := range dues {
		waits := func(w *walk) bool { return w.id == d.id }
		if !slices.ContainsFunc(p.walks, waits) && (p.walking == nil || p.walking.id != d.id) {
			p.walks = append(p.walks, p.newWalk(poller, d))
		}
	}
}

// watch reads the proposals that are open or without final scores, which change without a message. It notes what is
// gone, and asks for walks over those that lack votes.
func (p watcher) watch(ctx context.Context) (more bool, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.load(ctx); err != nil {
		return false, err
	}
	var ids []string
	now := p.Clock.Now()
	all := now.Sub(p.lookedAt) >= lookInterval-watchInterval
	for id, i := range p.items {
		if i.watched(now) && (all || !now.Before(i.end) && now.Sub(i.end) < justEnded) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for batch := range slices.Chunk(ids, maxIn) {
		var f findings
		found, err := p.readProposals(ctx, &f, batch, nil)
		if err != nil {
			p.loaded = false
			return false, err
		}
		for _, id := range batch {
			if _, there := found[id]; !there {
				p.miss(id)
			}
		}
		if err := p.commit(ctx, p.spaceCursor("", watchPoller), f); err != nil {
			return false, err
		}
	}
	if all {
		walks, err := p.lacking(ctx, ids)
		if err != nil {
			return false, err
		}
		p.enqueue(watchPoller, walks)
		p.lookedAt = now
	}
	return false, p.saveNotes(ctx)
}

// lacking returns the proposals for which fewer votes are held than were stated at the previous look. More held than
// stated is nothing to act on: large polls state theirs late. Encrypted votes are read when the scores are final.
func (p watcher) lacking(ctx context.Context, ids []string) ([]due, error) {
	behind := map[string]*item{}
	for _, id := range ids {
		i := p.items[id]
		if i != nil && i.previous > 0 && i.Missing == 0 && !i.encrypted && i.even != i.votes {
			behind[id] = i
		}
	}
	if len(behind) == 0 {
		return nil, nil
	}
	sorted := slices.Sorted(maps.Keys(behind))
	held, err := records.HeldVoters(ctx, p.journal.Warehouse, hashes(sorted))
	if err != nil {
		return nil, err
	}
	var walks []due
	for _, id := range sorted {
		i, voters := behind[id], held[proposalRef(id).Hash()]
		switch {
		case voters+i.Lack == i.votes:
			i.even = i.votes
		case voters+i.Lack < i.previous && !p.backfillDue(id, i):
			walks = append(walks, due{i.space, id, i.votes})
		}
	}
	return walks, nil
}
