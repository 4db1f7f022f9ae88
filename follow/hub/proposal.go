package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

type proposalHead struct {
	ID            string        `json:"id"`
	Space         reference     `json:"space"`
	Created       fetch.Seconds `json:"created"`
	Updated       fetch.Seconds `json:"updated"`
	Start         fetch.Seconds `json:"start"`
	End           fetch.Seconds `json:"end"`
	ScoresState   string        `json:"scores_state"`
	ScoresUpdated fetch.Seconds `json:"scores_updated"`
	ScoresTotal   json.Number   `json:"scores_total"`
	Votes         fetch.Count   `json:"votes"`
	Flagged       bool          `json:"flagged"`
	Privacy       string        `json:"privacy"`
}

type reference struct {
	ID string `json:"id"`
}

// finalScores and encryptedVotes are values of scores_state and privacy.
const (
	finalScores    = "final"
	encryptedVotes = "shutter" // and shutter-elgamal, for good
)

// readProposals asks for proposals by id, adds the changed ones to the findings, and returns what it found of them.
// origins are what states those that are no items.
func (p *reader) readProposals(ctx context.Context, f *findings, ids []string, origins map[string]string) (map[string]proposalHead, error) {
	found := map[string]proposalHead{}
	for batch := range slices.Chunk(ids, maxIn) {
		got, err := p.list(ctx, "proposals", "proposals", map[string]any{"ids": batch}, 0, maxIn)
		if err != nil {
			return nil, err
		}
		p.takeProposals(f, got.rows, func(head proposalHead) error {
			return refuse(!slices.Contains(batch, head.ID))
		}, origins, found)
	}
	return found, nil
}

var errNotAsked = fmt.Errorf("%w: it was not asked for", follow.ErrForeign)

func refuse(foreign bool) error {
	if foreign {
		return errNotAsked
	}
	return nil
}

// takeProposals adds the changed ones of some proposals to the findings, and to found all but proposals of spaces that are
// not followed, and those that check refuses.
func (p *reader) takeProposals(
	f *findings, rows []json.RawMessage, check func(proposalHead) error, origins map[string]string, found map[string]proposalHead,
) {
	for _, row := range rows {
		var head proposalHead
		if malformed := fetch.Decode(row, &head); malformed != nil {
			p.reject(f, "", head.ID, malformed)
			if head.ID != "" {
				found[head.ID] = head // it is there
			}
			continue
		}
		if err := cmp.Or(p.checkSpace(head.Space), check(head), p.checkItem(head)); err != nil {
			p.reject(f, "", head.ID, err)
			continue
		}
		found[head.ID] = head
		i := p.track(head)
		origin := origins[head.ID]
		if i != nil && i.origin != "" {
			origin = i.origin
		}
		content := xxhash.Sum64(append(slices.Clone(row), origin...))
		if i != nil && i.content == content {
			continue
		}
		asked := follow.Asked{Format: source.SnapshotProposal, Source: sourceRef(head.Space.ID), ItemID: head.ID}
		proposal, is := p.read(f, asked, row).(*record.Proposal)
		if !is {
			continue
		}
		proposal.Origin = origin
		if i != nil {
			i.content = content
		}
	}
}

func (p *reader) checkSpace(space reference) error {
	if p.follows(space.ID) {
		return nil
	}
	return fmt.Errorf("%w: space %q is not followed", follow.ErrForeign, fetch.Clip(space.ID))
}

// checkItem refuses a proposal that is known as one of another space.
func (p *reader) checkItem(head proposalHead) error {
	if i := p.items[head.ID]; i != nil && i.space != head.Space.ID {
		return fmt.Errorf("%w: it is known as a proposal of %q", follow.ErrForeign, i.space)
	}
	return nil
}

// track takes what a proposal states into its item. It makes one for a proposal that may still change; nil for others.
func (p *reader) track(head proposalHead) *item {
	now, end := p.Clock.Now(), time.Unix(int64(head.End), 0)
	i := p.items[head.ID]
	known := i != nil
	if !known {
		if now.After(end.Add(watchedAfterEnd)) {
			return nil
		}
		i = &item{space: head.Space.ID}
		i.Lack = p.lack[head.ID]
		p.items[head.ID] = i
	}
	i.end, i.previous, i.votes = end, i.votes, uint64(head.Votes)
	i.created = new(governance.TimestampOf(time.Unix(int64(head.Created), 0)))
	shutter := strings.HasPrefix(head.Privacy, encryptedVotes)
	if shutter && !i.Shutter {
		i.Shutter, i.changed = true, true
	}
	i.encrypted = shutter && head.ScoresState != finalScores
	if i.Missing > 0 {
		i.Missing, i.changed = 0, true
	}
	if head.ScoresState == finalScores && i.Final == 0 {
		i.Final, i.changed = now.Unix(), true
		if !known {
			i.Final = int64(max(head.End, head.ScoresUpdated))
		}
	}
	return i
}
