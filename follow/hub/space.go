package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// deletedSpacePause is between the two looks at a space before it counts as deleted.
const deletedSpacePause = 10 * time.Minute

// spaceHead is what following takes of a space.
type spaceHead struct {
	ID             string
	Name           string
	ProposalsCount uint64
	VotesCount     uint64
}

// readSpaces adds spaces to the findings. It notes those that the hub does not know.
func (p *poller) readSpaces(ctx context.Context, f *findings, ids []string) error {
	for batch := range slices.Chunk(ids, maxIn) {
		got, err := p.ask(ctx, "spaces", map[string]any{"ids": batch})
		if err != nil {
			return err
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(got["spaces"], &rows); err != nil {
			return fmt.Errorf("read spaces of %s: %w", p.Host.Name(), err)
		}
		found := map[string]bool{}
		for _, row := range rows {
			var head spaceHead
			if err := json.Unmarshal(row, &head); err != nil {
				return fmt.Errorf("read a space of %s: %w", p.Host.Name(), err)
			}
			found[head.ID] = true
			if _, err := p.read(ctx, f, source.SnapshotSpace, head.ID, head.ID, row); err != nil {
				return err
			}
		}
		for _, id := range batch {
			if !found[id] {
				if _, err := p.findSpace(ctx, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// findSpace asks for one space and notes whether the hub knows it: nil for a space that is
// missing.
func (p *poller) findSpace(ctx context.Context, id string) (*spaceHead, error) {
	got, err := p.ask(ctx, "space", map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	var head *spaceHead
	if text := bytes.TrimSpace(got["space"]); !bytes.Equal(text, []byte("null")) {
		if err := json.Unmarshal(text, &head); err != nil {
			return nil, fmt.Errorf("read space %s of %s: %w", id, p.Host.Name(), err)
		}
	}
	_, noted := p.missing[id]
	since := time.Unix(0, 0)
	switch {
	case head == nil && !noted:
		since = p.Clock.Now()
		p.missing[id] = since
	case head != nil && noted:
		delete(p.missing, id)
	default:
		return head, nil
	}
	return head, p.journal.Warehouse.WriteFollowedItems(ctx, []warehouse.FollowedItem{p.noteRow(id, "", note{Missing: since.Unix()})})
}

// withdrawSpaces withdraws what is held of spaces that the hub did not know ten minutes
// ago and does not know now.
func (p *poller) withdrawSpaces(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(p.missing)) {
		if p.Clock.Now().Sub(p.missing[id]) < deletedSpacePause {
			continue
		}
		if head, err := p.findSpace(ctx, id); head != nil || err != nil {
			return err
		}
		held, err := p.journal.Warehouse.HeldProposals(ctx, governance.Snapshot, []string{id}, time.Time{})
		if err != nil {
			return err
		}
		var ids []string
		for _, h := range held {
			if !h.Withdrawn {
				ids = append(ids, h.ExternalID)
			}
		}
		if err := p.withdrawProposals(ctx, ids); err != nil {
			return err
		}
	}
	return nil
}

// withdrawProposals withdraws proposals that are held.
func (p *poller) withdrawProposals(ctx context.Context, ids []string) error {
	for batch := range slices.Chunk(ids, maxIn) {
		held, err := p.journal.Warehouse.Proposals(ctx, hashes(batch))
		if err != nil {
			return err
		}
		var f findings
		for _, h := range held {
			if !h.Withdrawn {
				h.Proposal.Withdrawn = true
				f.records = append(f.records, record.Record(&h.Proposal))
				f.withdrawn++
			}
		}
		if _, err := p.commit(ctx, p.sharedCursor(closeLane), f); err != nil {
			return err
		}
		var notes []warehouse.FollowedItem
		for _, id := range batch {
			if i := p.items[id]; i != nil {
				i.Missing = 0
				notes = append(notes, p.noteRow(i.space, id, i.note))
				delete(p.items, id)
			}
		}
		if err := p.journal.Warehouse.WriteFollowedItems(ctx, notes); err != nil {
			return err
		}
	}
	return nil
}
