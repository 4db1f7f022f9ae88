package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// voteHead is what following takes of a vote.
type voteHead struct {
	ID       string
	Voter    string
	Created  int64
	Choice   json.RawMessage
	Proposal struct{ ID string }
	Space    struct{ ID string }
}

// waits reports whether the choice is encrypted. It changes in place when it is revealed.
func (v voteHead) waits() bool { return len(v.Choice) > 0 && v.Choice[0] == '"' }

// takeVotes adds votes of followed spaces to the findings and returns what it read of
// them. Encrypted ones are no ballots yet.
func (p *poller) takeVotes(ctx context.Context, f *findings, rows []json.RawMessage) ([]voteHead, error) {
	var heads []voteHead
	for _, row := range rows {
		var head voteHead
		if malformed := json.Unmarshal(row, &head); malformed != nil {
			if err := p.reject(ctx, f, head.Space.ID, head.ID, malformed); err != nil {
				return nil, err
			}
			continue
		}
		if !p.follows(head.Space.ID) || head.Proposal.ID == "" {
			continue
		}
		heads = append(heads, head)
		if head.waits() {
			continue
		}
		if _, err := p.read(ctx, f, source.SnapshotVote, head.Space.ID, head.ID, row); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// readVotes asks for votes by id. Those that are not found any more were replaced by a
// later vote of the voter, or deleted.
func (p *poller) readVotes(ctx context.Context, f *findings, ids []string) ([]voteHead, error) {
	var heads []voteHead
	for batch := range slices.Chunk(ids, maxIn) {
		got, err := p.list(ctx, "votes", "votes", map[string]any{"ids": batch}, 0, maxIn)
		if err != nil {
			return nil, err
		}
		if got.holes > 0 {
			hole := fmt.Errorf("%d of %d votes cannot be answered by the hub", got.holes, len(batch))
			if err := p.reject(ctx, f, "", batch[0], hole); err != nil {
				return nil, err
			}
		}
		more, err := p.takeVotes(ctx, f, got.rows)
		if err != nil {
			return nil, err
		}
		heads = append(heads, more...)
	}
	return heads, nil
}

// withdrawBallots withdraws ballots that are held and that the hub does not have any more.
func withdrawBallots(f *findings, ballots []record.Ballot) {
	for _, b := range ballots {
		b.Withdrawn = true
		f.records = append(f.records, &b)
		f.withdrawn++
	}
}
