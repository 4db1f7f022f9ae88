package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

const (
	// deletedSpacePause is between the two looks at a space before it counts as deleted.
	deletedSpacePause = 10 * time.Minute
	// firstLookPause and maxLookPause bound the pause between two looks at a space that was never known.
	firstLookPause, maxLookPause = time.Minute, 24 * time.Hour
	// spacesPause is between two readings of all spaces.
	spacesPause = 24 * time.Hour
)

type spaceHead struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	ProposalsCount fetch.Count `json:"proposalsCount"`
	VotesCount     fetch.Count `json:"votesCount"`
}

func (h *Hub) missingText(space, near string) string {
	const contractDigits = 40 // the digits of an address; those of Starknet have more
	text := fmt.Sprintf("%s has no space %s", h.Host.Name(), space)
	if _, address, _ := strings.Cut(":"+space, ":0x"); len(address) >= contractDigits {
		return text + ": spaces that are contracts, those of Snapshot X, are not followed"
	}
	if near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// withSpellings returns ids of spaces with other spellings of them, as many as one request may have.
func withSpellings(ids []string) []string {
	all := slices.Clone(ids)
	for _, id := range ids {
		lower := strings.ToLower(id)
		for _, spelling := range []string{lower, strings.TrimSuffix(lower, ".eth") + ".eth"} {
			if len(all) < maxIn && !slices.Contains(all, spelling) {
				all = append(all, spelling)
			}
		}
	}
	return all
}

// readSpaces adds spaces to the findings, and notes those that the hub does not know. One that it had known is
// asked for once more by itself, as is one that it cannot answer whole: it would take the others along.
func (p *reader) readSpaces(ctx context.Context, f *findings, ids []string) error {
	for batch := range slices.Chunk(ids, maxIn) {
		asked := withSpellings(batch)
		got, err := p.ask(ctx, "spaces", map[string]any{"ids": asked})
		isBroken := errors.As(err, new(*rowError))
		switch half := len(batch) / 2; {
		case isBroken && half > 0:
			if err = p.readSpaces(ctx, f, batch[:half]); err == nil {
				err = p.readSpaces(ctx, f, batch[half:])
			}
			if err != nil {
				return err
			}
			continue
		case isBroken:
			p.reject(f, batch[0], batch[0], err)
			got = answer{"spaces": json.RawMessage("[]")}
		case err != nil:
			return err
		}
		found, err := p.takeSpaces(f, got["spaces"], asked)
		if err != nil {
			return err
		}
		for _, id := range batch {
			_, noted := p.missing[id]
			if found[id] || !isBroken && (noted || !p.wasKnown(id)) {
				continue
			}
			head, err := p.findSpace(ctx, id)
			if err != nil {
				return err
			}
			found[id] = head != nil
		}
		if err := p.noteSpaces(ctx, batch, found); err != nil {
			return err
		}
	}
	return nil
}

// wasKnown reports whether the hub has answered a space before.
func (p *reader) wasKnown(space string) bool {
	_, at := p.past(space)
	return at.Phase != describing
}

// noteSpaces notes which of the spaces that were asked for the hub knows. Found may have others.
func (p *reader) noteSpaces(ctx context.Context, asked []string, found map[string]bool) error {
	var exist []string
	for _, id := range slices.Concat(p.Spaces, slices.Sorted(maps.Keys(found))) {
		_, missing := p.missing[id]
		if found[id] || !missing && p.wasKnown(id) && !slices.Contains(asked, id) {
			exist = append(exist, id)
		}
	}
	now := p.Clock.Now()
	var notes []records.FollowedItem
	var cursors []records.FollowCursor
	for _, id := range asked {
		before, noted := p.missing[id]
		if found[id] && !noted {
			continue
		}
		var n note
		delete(p.missing, id)
		if !found[id] {
			n.Missing, n.Looked = cmp.Or(before.Missing, now.Unix()), now.Unix()
			n.Near = cmp.Or(governance.Nearest(id, exist), before.Near)
			p.missing[id] = n
		}
		if !noted {
			p.Logger.WarnContext(ctx, "space is missing", slog.String("upstream", p.ID()), slog.String("space", id),
				slog.String("reason", p.missingText(id, n.Near)))
		} else if found[id] {
			sweep := p.spaceCursor(id, sweepPoller)
			sweep.SetPosition(sweepPosition{}) // what was withdrawn is read again
			cursors = append(cursors, sweep)
		}
		notes = append(notes, p.journal.Note(sourceRef(id), "", n)) // the note of a space has no id
		cursor := p.spaceCursor(id, backfillPoller)
		p.explain(&cursor)
		cursors = append(cursors, cursor)
	}
	if err := records.WriteFollowedItems(ctx, p.journal.Warehouse, notes); err != nil {
		return err
	}
	return p.journal.Commit(ctx, nil, cursors...)
}

// takeSpaces adds the spaces of an answer to the findings, and returns which of those asked for are among them.
func (p *reader) takeSpaces(f *findings, answer json.RawMessage, asked []string) (map[string]bool, error) {
	var rows []json.RawMessage
	if err := fetch.Decode(answer, &rows); err != nil {
		return nil, fmt.Errorf("read spaces of %s: %w", p.Host.Name(), err)
	}
	found := map[string]bool{}
	for _, row := range rows {
		var head spaceHead
		if err := fetch.Decode(row, &head); err != nil {
			return nil, fmt.Errorf("read a space of %s: %w", p.Host.Name(), err)
		}
		if !slices.Contains(asked, head.ID) {
			p.reject(f, "", head.ID, errNotAsked)
			continue
		}
		found[head.ID] = true
		if !p.follows(head.ID) {
			continue // another spelling
		}
		p.read(f, follow.Asked{Format: source.SnapshotSpace, Source: sourceRef(head.ID), ItemID: head.ID}, row)
	}
	return found, nil
}

// findSpace asks for one space and notes whether the hub knows it: nil for a space that is missing.
func (p *reader) findSpace(ctx context.Context, id string) (*spaceHead, error) {
	got, err := p.ask(ctx, "space", map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	var head *spaceHead
	if err := fetch.Decode(got["space"], &head); err != nil {
		return nil, fmt.Errorf("read space %s of %s: %w", id, p.Host.Name(), err)
	}
	if head != nil && head.ID != id {
		return nil, fmt.Errorf("%s answers space %s where %s was asked for", p.Host.Name(), fetch.Clip(head.ID), id)
	}
	return head, p.noteSpaces(ctx, []string{id}, map[string]bool{id: head != nil})
}

// lookForSpaces asks once more for the spaces that the hub did not know, all at once, after pauses
// that grow to a day. What is held of one that it had known is withdrawn at the second look.
func (p *reader) lookForSpaces(ctx context.Context) error {
	now := p.Clock.Now()
	var due []string
	for _, id := range slices.Sorted(maps.Keys(p.missing)) {
		gone, least := p.missing[id], firstLookPause
		if p.wasKnown(id) {
			least = deletedSpacePause
		} else if len(p.walks) > 0 {
			continue // what has data comes first
		}
		looked, since := time.Unix(gone.Looked, 0), time.Unix(gone.Missing, 0)
		if clock.Elapsed(now, looked) >= min(max(looked.Sub(since), least), maxLookPause) {
			due = append(due, id)
		}
	}
	if err := p.renewSpaces(ctx, due); err != nil {
		return err
	}
	for _, id := range due {
		if _, missing := p.missing[id]; missing && p.wasKnown(id) {
			if err := p.withdrawSpace(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSpacesAgain reads all spaces in turn: nothing else states that one is spam.
func (p *reader) readSpacesAgain(ctx context.Context) error {
	now := p.Clock.Now()
	if p.spacesReadAt.IsZero() {
		p.spacesReadAt = now
	}
	if now.Sub(p.spacesReadAt) < spacesPause {
		return nil
	}
	known := slices.DeleteFunc(slices.Clone(p.Spaces), func(id string) bool {
		_, missing := p.missing[id]
		return missing || !p.wasKnown(id)
	})
	err := p.renewSpaces(ctx, known)
	if err == nil {
		p.spacesReadAt = now
	}
	return err
}

func (p *reader) renewSpaces(ctx context.Context, ids []string) error {
	var f findings
	err := p.readSpaces(ctx, &f, ids)
	if err == nil && len(ids) > 0 {
		err = p.commit(ctx, p.spaceCursor("", closePoller), f)
	}
	return err
}

// withdrawSpace withdraws what is held of a missing space, if the hub answers none by its id either.
func (p *reader) withdrawSpace(ctx context.Context, id string) error {
	held, err := records.HeldProposals(ctx, p.journal.Warehouse, governance.Snapshot, []string{id}, time.Time{})
	if err != nil {
		return err
	}
	var ids []string
	for _, h := range held {
		if !h.Withdrawn {
			ids = append(ids, h.ExternalID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if head, err := p.findSpace(ctx, id); head != nil || err != nil {
		return err
	}
	return p.withdrawProposals(ctx, id, ids)
}

// withdrawProposals withdraws what cannot be asked for either of proposals that a list lacks, which may be cut.
func (p *reader) withdrawProposals(ctx context.Context, space string, ids []string) error {
	for batch := range slices.Chunk(ids, maxIn) {
		var f findings
		found, err := p.readProposals(ctx, &f, batch, nil)
		if err != nil {
			return err
		}
		batch = slices.DeleteFunc(batch, func(id string) bool { _, there := found[id]; return there })
		held, err := records.Proposals(ctx, p.journal.Warehouse, hashes(batch))
		if err != nil {
			return err
		}
		for _, h := range held {
			if !h.Withdrawn {
				h.Proposal.Withdrawn = true
				f.records = append(f.records, record.Record(&h.Proposal))
				f.withdrawn++
			}
		}
		maps.DeleteFunc(p.holes, func(id string, _ hole) bool { return slices.Contains(batch, id) })
		if err := p.commit(ctx, p.spaceCursor(space, backfillPoller), f); err != nil {
			return err
		}
		var notes []records.FollowedItem
		for _, id := range batch {
			if i := p.items[id]; i != nil {
				i.Missing, i.Hole = 0, ""
				notes = append(notes, p.journal.Note(sourceRef(i.space), id, i.note))
				delete(p.items, id)
			}
		}
		if err := records.WriteFollowedItems(ctx, p.journal.Warehouse, notes); err != nil {
			return err
		}
	}
	return nil
}
