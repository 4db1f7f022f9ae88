package hub

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// proposalHead is what following takes of a proposal.
type proposalHead struct {
	ID            string
	Space         struct{ ID string }
	Created       int64
	Updated       int64
	Start         int64
	End           int64
	ScoresState   string      `json:"scores_state"`
	ScoresUpdated int64       `json:"scores_updated"`
	ScoresTotal   json.Number `json:"scores_total"`
	Votes         uint64
	Flagged       bool
	Privacy       string
}

// finalScores and encryptedVotes are values of scores_state and privacy.
const (
	finalScores    = "final"
	encryptedVotes = "shutter"
)

// readProposals asks for proposals by id, adds those that changed to the findings, and
// returns what it found of them. origins are what states those that are no items.
func (p *poller) readProposals(ctx context.Context, f *findings, ids []string, origins map[string]string) (map[string]proposalHead, error) {
	found := map[string]proposalHead{}
	for batch := range slices.Chunk(ids, maxIn) {
		got, err := p.list(ctx, "proposals", "proposals", map[string]any{"ids": batch}, 0, maxIn)
		if err != nil {
			return nil, err
		}
		if err := p.takeProposals(ctx, f, got.rows, origins, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// takeProposals adds the changed ones of some proposals to the findings, and all to found.
func (p *poller) takeProposals(
	ctx context.Context, f *findings, rows []json.RawMessage, origins map[string]string, found map[string]proposalHead,
) error {
	for _, row := range rows {
		var head proposalHead
		if malformed := json.Unmarshal(row, &head); malformed != nil {
			if err := p.reject(ctx, f, head.Space.ID, head.ID, malformed); err != nil {
				return err
			}
			if head.ID != "" {
				found[head.ID] = head // it is there
			}
			continue
		}
		if !p.follows(head.Space.ID) {
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
		read, err := p.read(ctx, f, source.SnapshotProposal, head.Space.ID, head.ID, row)
		if err != nil {
			return err
		}
		proposal, is := read.(*record.Proposal)
		if !is {
			continue
		}
		proposal.Origin = origin
		if i != nil {
			i.content = content
		}
	}
	return nil
}

// track takes what a proposal states into its item. It makes one for a proposal that may
// still change, and returns nil for others.
func (p *poller) track(head proposalHead) *item {
	now, end := p.Clock.Now(), time.Unix(head.End, 0)
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
	i.end, i.previous, i.votes = end, i.votes, head.Votes
	i.encrypted = head.Privacy == encryptedVotes && head.ScoresState != finalScores
	if i.Missing > 0 {
		i.Missing, i.changed = 0, true
	}
	if head.ScoresState == finalScores && i.Final == 0 {
		i.Final, i.changed = now.Unix(), true
		if !known {
			i.Final = max(head.End, head.ScoresUpdated)
		}
	}
	return i
}
