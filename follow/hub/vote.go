package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse/source"
)

type voteHead struct {
	ID       string          `json:"id"`
	Voter    string          `json:"voter"`
	Created  fetch.Seconds   `json:"created"`
	Choice   json.RawMessage `json:"choice"`
	Proposal reference       `json:"proposal"`
	Space    reference       `json:"space"`
}

// waits reports whether the choice is encrypted. It changes in place when it is revealed.
func (v voteHead) waits() bool { return source.IsEncrypted(v.Choice) }

// takeVotes adds votes of followed spaces to the findings and returns them, without those that check refuses. Encrypted
// ones are no ballots yet.
func (p *reader) takeVotes(f *findings, rows []json.RawMessage, check func(voteHead) error) (heads []voteHead) {
	for _, row := range rows {
		var head voteHead
		if malformed := fetch.Decode(row, &head); malformed != nil {
			p.reject(f, "", head.ID, malformed)
			continue
		}
		if err := cmp.Or(p.checkSpace(head.Space), check(head)); err != nil {
			p.reject(f, "", head.ID, err)
			continue
		}
		heads = append(heads, head)
		if head.waits() {
			continue
		}
		asked := follow.Asked{Format: source.SnapshotVote, Source: sourceRef(head.Space.ID), ItemID: head.ID, Proposal: head.Proposal.ID}
		p.read(f, asked, row)
	}
	return heads
}

// readVotes asks for votes by id. One that is not found was replaced by a later vote of the voter, or deleted.
func (p *reader) readVotes(ctx context.Context, f *findings, ids []string) ([]voteHead, error) {
	var heads []voteHead
	for batch := range slices.Chunk(ids, maxIn) {
		got, err := p.list(ctx, "votes", "votes", map[string]any{"ids": batch}, 0, maxIn)
		if err != nil {
			return nil, err
		}
		if got.holes > 0 {
			p.reject(f, "", batch[0], fmt.Errorf("%d of %d votes cannot be answered by the hub", got.holes, len(batch)))
		}
		heads = append(heads, p.takeVotes(f, got.rows, func(head voteHead) error {
			return refuse(head.Proposal.ID == "" || !slices.Contains(batch, head.ID))
		})...)
	}
	return heads, nil
}
