package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// maxMissing bounds the ballots that one walk looks at a second time.
	maxMissing = 10_000
	// minWalked and maxWalked bound the votes that one walk reads. The largest polls have about a million.
	minWalked, maxWalked = 20_000, 5_000_000
)

// walk reads all votes of a proposal, which may have any number: it remembers hashes of each vote and voter.
type walk struct {
	*reader

	poller, space, id string
	// stated is the number of votes that the proposal stated.
	stated  uint64
	started time.Time
	// from and skip are where the next page begins: a time, and a number of votes of that very second.
	from int64
	skip int
	// ids has hashes of the ids that the pages had, voters hashes of the voters with the times of their last votes,
	// in seconds. listed counts the votes of all pages.
	ids    map[uint64]bool
	voters map[uint64]int64
	listed uint64
	// waiting counts the encrypted votes, and rejected those that are no record.
	waiting, rejected uint64
	// hole says what cannot be read; empty for nothing. unread is true if a row could not be told to be a vote of it.
	hole   string
	unread bool
	// read is true after the last page.
	read bool
}

func (p *reader) newWalk(poller string, d due) *walk {
	return &walk{
		reader: p, poller: poller, space: d.space, id: d.id, stated: d.votes, started: p.Clock.Now(),
		ids: map[uint64]bool{}, voters: map[uint64]int64{},
	}
}

// step reads a page, and after the last withdraws what the hub has no more. After an error, the next step tries
// the same page again.
func (w *walk) step(ctx context.Context) (more bool, err error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	if err := w.load(ctx); err != nil {
		return true, err
	}
	if !w.read {
		more, err := w.page(ctx)
		if refused, is := errors.AsType[*refusedError](err); is {
			more, err = false, w.noteHole(ctx, refused.message)
		}
		if more || err != nil {
			return true, err
		}
		w.read = true
	}
	err = w.finish(ctx)
	return err != nil, err
}

// page reads the next page. Votes of equal time may fill several, which are skipped one after another. A page that is
// not full is the last if all stated votes were listed, or if it lists none that is new.
func (w *walk) page(ctx context.Context) (more bool, err error) {
	variables := map[string]any{"proposal": w.id, "from": w.from}
	got, err := w.list(ctx, "votes", "votes", variables, w.skip, maxFirst)
	if err != nil {
		return false, err
	}
	var f findings
	if got.holes > 0 {
		err := w.noteHole(ctx, fmt.Sprintf("%d votes from %s cannot be answered by the hub", got.holes, at(w.from)))
		if err != nil {
			return false, err
		}
	}
	heads := w.takeVotes(&f, got.rows, func(head voteHead) error {
		if head.Proposal.ID != w.id {
			return fmt.Errorf("%w: it is on proposal %q where %q was asked for", follow.ErrForeign, fetch.Clip(head.Proposal.ID), w.id)
		}
		return nil
	})
	if err := w.commitPage(ctx, f); err != nil {
		return false, err // the page is read again, and counts once
	}
	w.rejected += f.rejected
	last, before := w.from, len(w.ids)
	w.listed += uint64(len(got.rows))
	w.unread = w.unread || len(heads) < len(got.rows)
	for _, v := range heads {
		voter := voterHash(v.Voter)
		w.ids[xxhash.Sum64String(v.ID)], w.voters[voter] = true, max(w.voters[voter], int64(v.Created))
		last = max(last, int64(v.Created))
		if v.waits() {
			w.waiting++
		}
	}
	switch isLast := uint64(len(w.ids)) >= w.stated || len(w.ids) == before; {
	case !got.full && isLast:
		return false, nil
	case w.listed > w.most():
		return false, w.noteHole(ctx, fmt.Sprintf("the hub lists more than %d votes where the proposal states %d", w.most(), w.stated))
	}
	return true, w.advance(ctx, last, len(got.rows)+got.holes)
}

// most is the number of votes at which a walk ends: each takes memory, and a list without an end would hold up all
// other walks. Large polls state theirs late: a proposal may have more than it states.
func (w *walk) most() uint64 { return min(2*min(w.stated, maxWalked)+minWalked, maxWalked) }

// commitPage writes the votes of a page. New ones of a followed proposal are gaps of the log, unless revealed only now.
func (w *walk) commitPage(ctx context.Context, f findings) error {
	counts, err := w.commitCounted(ctx, w.cursor(), f)
	if i := w.items[w.id]; err != nil || w.poller == backfillPoller || counts.New == 0 || i != nil && i.reveals() {
		return err
	}
	return w.commit(ctx, w.cursor(), findings{gaps: counts.New})
}

// cursor is the space's cursor, which counts what the walk finds.
func (w *walk) cursor() records.FollowCursor { return w.spaceCursor(w.space, backfillPoller) }

func (w *walk) advance(ctx context.Context, last int64, votes int) error {
	if last > w.from {
		w.from, w.skip = last, 0
		return nil
	}
	if w.skip += votes; w.skip <= maxSkip {
		return nil
	}
	if w.from == 0 {
		return &refusedError{"the hub answers none of the votes"}
	}
	err := w.noteHole(ctx, fmt.Sprintf("more than %d votes at %s, of which the hub shows no more", maxSkip+maxFirst, at(w.from)))
	w.from, w.skip = w.from+1, 0
	return err
}

func at(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }

func (w *walk) noteHole(ctx context.Context, hole string) error {
	w.hole = hole
	w.Logger.WarnContext(ctx, "votes cannot be read", slog.String("upstream", w.ID()), slog.String("space", w.space),
		slog.String("proposal", w.id), slog.String("hole", hole))
	var f findings
	w.reject(&f, w.space, w.id+" "+hole, errors.New(hole))
	return w.commit(ctx, w.cursor(), f)
}

// finish withdraws what the walk did not find, and notes the walk.
func (w *walk) finish(ctx context.Context) error {
	// A walk without any vote proves nothing, unless the proposal states that it has none.
	if (len(w.ids) > 0 || w.stated == 0) && w.hole == "" && !w.unread {
		if err := w.withdrawMissing(ctx); err != nil {
			return err
		}
	}
	i := w.items[w.id]
	if i == nil {
		i = &item{space: w.space}
		if w.waiting > 0 { // looked at until it is revealed
			i.Final = w.started.Unix()
			w.items[w.id] = i
		}
	}
	held := uint64(len(w.voters)) - min(uint64(len(w.voters)), w.waiting+w.rejected)
	lack, explained := w.stated-min(w.stated, held), min(w.stated, w.waiting+w.rejected)
	even := w.stated
	if lack > explained && w.hole == "" && w.unsure[w.id] != lack { // a page may have been cut: a second walk decides
		w.unsure[w.id] = lack
		lack, even = explained, 0
	}
	i.Walked, i.Waiting, i.Hole, i.Lack, i.even = w.started.Unix(), w.waiting, w.hole, lack, even
	w.lack[w.id] = i.Lack
	if err := w.noteHoles(ctx, w.hole); err != nil {
		return err
	}
	if w.walked != nil && w.poller == backfillPoller {
		w.walked[w.id] = true
	}
	return records.WriteFollowedItems(ctx, w.journal.Warehouse, []records.FollowedItem{w.journal.Note(sourceRef(i.space), w.id, i.note)})
}

// supersedes reports whether the walk has a later vote of a ballot's voter.
func (w *walk) supersedes(b record.Ballot) bool {
	at, voted := w.voters[voterHash(b.Voter)]
	return voted && (b.VotedAt == nil || at > b.VotedAt.Time().Unix())
}

// voterHash is the same for an address in any letter case.
func voterHash(voter string) uint64 { return xxhash.Sum64String(governance.VoterIdentity(voter)) }

// notAllRead begins the hole of a proposal whose walk was put off.
const notAllRead = "its votes are not all read: "

// noteUnread notes why the votes are not all read, until the walk is finished.
func (w *walk) noteUnread(ctx context.Context, why error) error {
	i := cmp.Or(w.items[w.id], &item{space: w.space})
	i.Hole = notAllRead + fetch.Clip(why.Error())
	return errors.Join(w.noteHoles(ctx, i.Hole), records.WriteFollowedItems(ctx, w.journal.Warehouse, []records.FollowedItem{w.journal.Note(sourceRef(w.space), w.id, i.note)}))
}

func (w *walk) noteHoles(ctx context.Context, text string) error {
	before, had := w.holes[w.id]
	if before.text == text && had == (text != "") {
		return nil
	}
	delete(w.holes, w.id)
	if text != "" {
		w.holes[w.id] = hole{w.space, text}
	}
	return w.commit(ctx, w.spaceCursor(w.space, backfillPoller), findings{})
}

// withdrawMissing looks a second time for the held ballots that the walk did not find. A superseded one stays.
func (w *walk) withdrawMissing(ctx context.Context) error {
	missing := map[string]record.Ballot{}
	var ids []string
	err := records.HeldBallots(ctx, w.journal.Warehouse, proposalRef(w.id), func(b record.Ballot) error {
		if !w.ids[xxhash.Sum64String(b.VoteID)] && !w.supersedes(b) && !w.isWithheld(b.VotedAt) && len(ids) < maxMissing {
			missing[b.VoteID] = b
			ids = append(ids, b.VoteID)
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	var f findings
	there, err := w.readVotes(ctx, &f, ids)
	if err != nil {
		return err
	}
	for _, v := range there {
		delete(missing, v.ID)
	}
	for _, b := range missing {
		b.Withdrawn = true
		f.records = append(f.records, &b)
		f.withdrawn++
	}
	return w.commit(ctx, w.cursor(), f)
}

// closer is the poller of the votes whose scores are final.
type closer struct{ *reader }

// walkClosed reads all votes of the proposals whose scores are final, and again an hour and a day later: powers
// change in place, and votes of the last minute reach the log late. Encrypted votes are read until none is left.
// It also makes the walks that other pollers ask for, and withdraws what was deleted. Each run reads one page.
func (p closer) walkClosed(ctx context.Context) (more bool, err error) {
	if err := p.nextWalk(ctx); p.walking == nil {
		return false, err
	} else if err != nil {
		p.Logger.LogAttrs(ctx, slog.LevelWarn, "deleted proposals or spaces not looked for, votes are read all the same", slog.String("upstream", p.ID()), slog.Any("error", err))
	}
	more, err = p.walking.step(ctx)
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.putOff(p.walking, err) || err == nil && !more {
		p.walking = nil
	}
	return err == nil, err
}

// putOff puts a walk that failed after all others, unless the hub allows no more requests, which says nothing about it.
func (p *reader) putOff(w *walk, err error) bool {
	if _, limited := errors.AsType[*fetch.LimitedError](err); err == nil || limited {
		return false
	}
	p.walks = append(slices.DeleteFunc(p.walks, func(other *walk) bool { return other.id == w.id }), w)
	return true
}

// nextWalk withdraws what was deleted, and sets walking to the next walk, if none is in progress. An error of the
// first holds up no walk.
func (p closer) nextWalk(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.load(ctx); err != nil || p.walking != nil {
		return err
	}
	failed := p.withdrawDeleted(ctx)
	if !p.loaded { // nothing could be written
		return failed
	}
	var closed []due
	for id, i := range p.items {
		if i.walkDue(p.Clock.Now()) && i.Missing == 0 && !p.backfillDue(id, i) {
			closed = append(closed, due{i.space, id, i.votes})
		}
	}
	slices.SortFunc(closed, func(a, b due) int { return strings.Compare(a.id, b.id) })
	p.enqueue(closePoller, closed)
	failed = errors.Join(failed, p.lookForSpaces(ctx), p.readSpacesAgain(ctx))
	if len(p.walks) > 0 {
		p.walking, p.walks = p.walks[0], p.walks[1:]
	}
	return failed
}
