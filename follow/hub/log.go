package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// logDelay is how long a message may show after one with a greater number.
	logDelay = time.Minute
	// maxSeen bounds the messages remembered beyond the cursor.
	maxSeen = 100_000
	// logOverlap are the numbers before the newest message from which the log is first read.
	logOverlap = 1000
)

// logPosition is the position of the log's cursor.
type logPosition struct {
	// MCI is a number up to which every message has been read.
	MCI int64 `json:"mci"`
}

// message is a row of the hub's log.
type message struct {
	MCI       int64
	ID        string
	Type      string
	Space     string
	Timestamp int64
}

// pollLog reads the messages after the cursor. Numbers may be missing, and may show later
// than greater ones: the cursor stays a minute behind, and what is known is skipped.
func (p *poller) pollLog(ctx context.Context) (more bool, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.startLog(ctx); err != nil {
		return false, err
	}
	cursor := p.sharedCursor(logLane)
	var position logPosition
	if err := cursor.ReadPosition(&position); err != nil {
		return false, err
	}
	asked := p.Clock.Now()
	variables := map[string]any{"after": max(position.MCI, p.after), "spaces": p.filter()}
	got, err := p.list(ctx, "messages", "messages", variables, 0, maxFirst)
	if err != nil {
		return false, err
	}
	messages := make([]message, len(got.rows))
	for i, row := range got.rows {
		if err := json.Unmarshal(row, &messages[i]); err != nil {
			return false, fmt.Errorf("read a message of %s: %w", p.Host.Name(), err)
		}
	}
	var f findings
	fresh := slices.DeleteFunc(slices.Clone(messages), func(m message) bool { return !p.seen[m.MCI].IsZero() })
	if err := p.takeMessages(ctx, &f, fresh); err != nil {
		p.loaded = false
		return false, err
	}
	cursor.UpstreamAt = &asked
	if got.full {
		newest := time.Unix(messages[len(messages)-1].Timestamp, 0).UTC()
		cursor.UpstreamAt = &newest
	}
	position.MCI = p.remember(position.MCI, fresh, asked)
	cursor.SetPosition(position)
	if _, err := p.commit(ctx, cursor, f); err != nil {
		return false, err
	}
	p.after = 0
	if got.full {
		p.after = messages[len(messages)-1].MCI
	}
	return got.full, nil
}

// startLog sets the cursor, once, a little before the newest message: what is older is
// read by the backfill.
func (p *poller) startLog(ctx context.Context) error {
	if err := p.load(ctx); err != nil {
		return err
	}
	cursor := p.sharedCursor(logLane)
	if cursor.Position != "" {
		return nil
	}
	got, err := p.list(ctx, "newest", "messages", map[string]any{"spaces": p.filter()}, 0, 1)
	if err != nil {
		return err
	}
	var newest message
	if len(got.rows) > 0 {
		if err := json.Unmarshal(got.rows[0], &newest); err != nil {
			return fmt.Errorf("read the newest message of %s: %w", p.Host.Name(), err)
		}
	}
	cursor.SetPosition(logPosition{max(0, newest.MCI-logOverlap)})
	_, err = p.commit(ctx, cursor, findings{})
	return err
}

// remember notes messages as read and returns the new position: the greatest number first
// seen a minute ago.
func (p *poller) remember(position int64, fresh []message, now time.Time) int64 {
	for _, m := range fresh {
		p.seen[m.MCI] = now
	}
	for mci, first := range p.seen {
		if now.Sub(first) >= logDelay {
			position = max(position, mci)
		}
	}
	if len(p.seen) > maxSeen {
		position = max(position, slices.Sorted(maps.Keys(p.seen))[len(p.seen)-maxSeen])
	}
	maps.DeleteFunc(p.seen, func(mci int64, _ time.Time) bool { return mci <= position })
	return position
}

// takeMessages reads what messages are about.
func (p *poller) takeMessages(ctx context.Context, f *findings, messages []message) error {
	var votes, proposals []string
	stated := map[string]message{} // messages by the id of what they state
	spaces, changed, deleted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		if !p.follows(m.Space) {
			continue
		}
		stated[m.ID] = m
		switch m.Type {
		case "vote":
			votes = append(votes, m.ID)
		case "proposal":
			proposals = append(proposals, m.ID)
		case "update-proposal", "flag-proposal":
			changed[m.Space] = true
		case "delete-proposal":
			deleted[m.Space] = true
		case "settings", "delete-space":
			spaces[m.Space] = true
		}
	}
	heads, err := p.readVotes(ctx, f, votes)
	if err != nil {
		return err
	}
	origins := map[string]string{}
	wanted := map[string]bool{}
	for _, id := range proposals {
		wanted[id], origins[id] = true, originOf(stated[id])
	}
	newest := map[string]int64{}
	for _, v := range heads {
		id, m := v.Proposal.ID, stated[v.ID]
		if i := p.items[id]; i == nil {
			wanted[id] = true // unknown, or long settled
		} else if m.MCI > newest[id] {
			newest[id], i.origin = m.MCI, originOf(m)
		}
	}
	for id, i := range p.items {
		if changed[i.space] {
			wanted[id] = true
		}
	}
	if err := p.readAndAdopt(ctx, f, slices.Sorted(maps.Keys(wanted)), origins); err != nil {
		return err
	}
	for space := range deleted {
		if _, _, err := p.findDeleted(ctx, space); err != nil {
			return err
		}
	}
	return p.readSpaces(ctx, f, slices.Sorted(maps.Keys(spaces)))
}

// readAndAdopt reads proposals, and gives the items among them what states them.
func (p *poller) readAndAdopt(ctx context.Context, f *findings, ids []string, origins map[string]string) error {
	if _, err := p.readProposals(ctx, f, ids, origins); err != nil {
		return err
	}
	for id, origin := range origins {
		if i := p.items[id]; i != nil && i.origin == "" {
			i.origin = origin
		}
	}
	return p.saveNotes(ctx)
}

// originOf names a message as evidence.
func originOf(m message) string { return fmt.Sprintf("snapshot message %s (mci %d)", m.ID, m.MCI) }
