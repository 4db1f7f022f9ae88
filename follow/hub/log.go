package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
)

const (
	// logDelay is how long a message may show after one with a greater number.
	logDelay = time.Minute
	// maxSeen bounds the messages remembered beyond the cursor.
	maxSeen = 100_000
	// logOverlap are the numbers before the newest message from which the log is first read.
	logOverlap = 1000
	// maxJump is the most numbers between two messages: a log filtered by spaces leaves out all others.
	maxJump = 1 << 32
)

type logPosition struct {
	// MCI is a number up to which every message has been read.
	MCI int64 `json:"mci"`
	// Since has the number since which each space is read without a break; nil where an earlier version wrote none.
	Since map[string]int64 `json:"since,omitempty"`
}

type message struct {
	MCI       int64  `json:"mci"`
	ID        string `json:"id"`
	Type      string `json:"type"`
	Space     string `json:"space"`
	Timestamp int64  `json:"timestamp"`
}

// messageLog is the poller of the hub's log.
type messageLog struct{ *reader }

// pollLog reads the messages after the cursor. Numbers may be missing, and may show later than greater ones: the
// cursor stays a minute behind, and what is known is skipped.
func (p messageLog) pollLog(ctx context.Context) (more bool, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.startLog(ctx); err != nil {
		return false, err
	}
	var position logPosition
	cursor := p.journal.At(sourceRef(""), logPoller, &position)
	asked, after := p.Clock.Now(), max(position.MCI, p.after)
	if after == p.absurd && asked.Sub(p.absurdAt) < logDelay {
		return false, nil // reading around a message takes many requests
	}
	var f findings
	messages, newest, full, err := p.readLog(ctx, &f, after)
	if err != nil {
		return false, err
	}
	messages = p.plausible(&f, messages, after)
	fresh := slices.DeleteFunc(slices.Clone(messages), func(m message) bool { return !p.seen[m.MCI].IsZero() })
	if err := p.takeMessages(ctx, &f, fresh); err != nil {
		p.loaded = false
		return false, err
	}
	cursor.UpstreamAt = &asked
	if full && len(messages) > 0 {
		cursor.UpstreamAt = new(time.Unix(messages[len(messages)-1].Timestamp, 0).UTC())
	}
	if position.MCI = p.remember(position.MCI, fresh, asked); newest > 0 && newest < position.MCI {
		position.MCI, p.after = max(0, newest-logOverlap), 0 // what was read after it is forgotten
		maps.DeleteFunc(p.seen, func(mci int64, _ time.Time) bool { return mci > position.MCI })
	}
	if slices.ContainsFunc(fresh, func(m message) bool { return p.follows(m.Space) }) {
		p.missed = 0
	}
	cursor.State = governance.SourceLive
	if p.missed > 0 {
		cursor.State = governance.SourceFailing
		cursor.Error = fmt.Sprintf("the log of messages states nothing, while sweeps found %d proposals that it should have", p.missed)
	}
	position.Since = p.since
	cursor.SetPosition(position)
	if err := p.commit(ctx, cursor, f); err != nil {
		return false, err
	}
	p.after = 0
	if more = full && len(messages) > 0 && messages[len(messages)-1].MCI > after; more {
		p.after = messages[len(messages)-1].MCI
	}
	if full && !more {
		return false, fmt.Errorf("%w: the log of %s does not go on after message %d", follow.ErrEndless, p.Host.Name(), after)
	}
	return more, nil
}

// readLog reads the messages after a number, and the number of the newest; 0 for none or unknown. full is true if
// there may be more. A message that cannot be read holds up no other: the watch and the sweep find what it states.
func (p messageLog) readLog(ctx context.Context, f *findings, after int64) (messages []message, newest int64, full bool, err error) {
	var read page
	variables := map[string]any{"after": after, "spaces": p.filter(), "first": maxFirst}
	got, err := p.ask(ctx, "messages", variables)
	if isOfOneRow(err) {
		read, err = p.list(ctx, "log", "messages", variables, 0, maxFirst)
	} else if err == nil {
		err = fetch.Decode(got["messages"], &read.rows)
		read.full = len(read.rows) >= maxFirst
	}
	if err != nil {
		return nil, 0, false, fmt.Errorf("read the messages of %s: %w", p.Host.Name(), err)
	}
	messages, lost := messagesOf(read.rows)
	if lost += read.holes; lost > 0 {
		if p.absurd != after {
			p.reject(f, "", "", fmt.Errorf("%d messages after message %d cannot be read", lost, after))
		}
		p.absurd, p.absurdAt = after, p.Clock.Now()
	}
	if got["newest"] != nil {
		newest, err = p.newestOf(got["newest"], after)
	}
	return messages, newest, read.full, err
}

func messagesOf(rows []json.RawMessage) (messages []message, lost int) {
	for _, row := range rows {
		var m message
		if fetch.Decode(row, &m) != nil {
			lost++
			continue
		}
		messages = append(messages, m)
	}
	return messages, lost
}

// newestOf returns the number of the newest message of a list that may follow on one that was read; 0 for none.
func (p messageLog) newestOf(list json.RawMessage, known int64) (newest int64, err error) {
	var rows []json.RawMessage
	if err := fetch.Decode(list, &rows); err != nil {
		return 0, fmt.Errorf("read the newest messages of %s: %w", p.Host.Name(), err)
	}
	last, _ := messagesOf(rows)
	slices.SortFunc(last, func(a, b message) int { return cmp.Compare(a.MCI, b.MCI) })
	for _, m := range last {
		if known = max(known, newest); m.MCI <= 0 || known > 0 && m.MCI > known && m.MCI-known > maxJump {
			break
		}
		newest = m.MCI
	}
	return newest, nil
}

// plausible refuses messages whose numbers fall, or leave out more than any log: none that followed would be read.
func (p messageLog) plausible(f *findings, messages []message, after int64) []message {
	for i, m := range messages {
		if m.MCI > after && (after == 0 || m.MCI-after <= maxJump) {
			after = m.MCI
			continue
		}
		if m.MCI != p.absurd {
			p.absurd = m.MCI
			p.reject(f, "", m.ID, fmt.Errorf("message %d cannot follow on message %d", m.MCI, after))
		}
		return messages[:i]
	}
	return messages
}

// startLog sets the cursor, once, a little before the newest message: the backfill reads what is older.
func (p messageLog) startLog(ctx context.Context) error {
	if err := p.load(ctx); err != nil {
		return err
	}
	cursor := p.spaceCursor("", logPoller)
	if cursor.Position != "" {
		return nil
	}
	got, err := p.ask(ctx, "newest", map[string]any{"spaces": p.filter()})
	if err != nil {
		return err
	}
	newest, err := p.newestOf(got["newest"], 0)
	if err != nil {
		return err
	}
	cursor.SetPosition(logPosition{MCI: max(0, newest-logOverlap)})
	return p.commit(ctx, cursor, findings{})
}

// remember notes messages as read and returns the new position: the greatest number first seen a minute ago.
func (p messageLog) remember(position int64, fresh []message, now time.Time) int64 {
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

func (p messageLog) takeMessages(ctx context.Context, f *findings, messages []message) error {
	var votes []string
	origins, wanted := map[string]string{}, map[string]bool{}
	stated := map[string]message{} // messages by the id of what they state
	spaces, changed, deletions := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, m := range messages {
		if !p.follows(m.Space) {
			continue
		}
		stated[m.ID] = m
		switch m.Type {
		case "vote":
			votes = append(votes, m.ID)
		case "proposal":
			wanted[m.ID], origins[m.ID] = true, originOf(m)
		case "update-proposal", "flag-proposal":
			changed[m.Space] = true
		case "delete-proposal":
			deletions[m.Space]++
		case "settings", "delete-space":
			spaces[m.Space] = true
		}
	}
	heads, err := p.readVotes(ctx, f, votes)
	if err != nil {
		return err
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
	for space, most := range deletions {
		if err := p.takeDeletions(ctx, space, most); err != nil {
			return err
		}
	}
	return p.readSpaces(ctx, f, slices.Sorted(maps.Keys(spaces)))
}

// readAndAdopt reads proposals, and gives the items among them what states them.
func (p messageLog) readAndAdopt(ctx context.Context, f *findings, ids []string, origins map[string]string) error {
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

func originOf(m message) string { return fmt.Sprintf("snapshot message %s (mci %d)", m.ID, m.MCI) }
