package hub

import (
	"context"
	"fmt"

	"pnyx/follow"
	"pnyx/follow/fetch"
	"pnyx/governance"
	"pnyx/warehouse/record"
)

// namesLane returns the lane that asks for the names of profiles.
func namesLane(p *poller) follow.Lane {
	asking := &follow.Names{Journal: p.journal, Source: governance.NameOfSnapshot, Provider: governance.Snapshot, Ask: p.profiles}
	return asking.Lane()
}

// profiles asks for the names in the profiles of users.
func (p *poller) profiles(ctx context.Context, users []string) (map[string]record.Name, error) {
	got, err := p.list(ctx, "users", "users", map[string]any{"ids": users}, 0, maxIn)
	if err != nil {
		return nil, err
	}
	names := map[string]record.Name{}
	for _, row := range got.rows {
		var user struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		}
		if err := fetch.Decode(row, &user); err != nil {
			return nil, fmt.Errorf("read a profile: %w", err)
		}
		names[governance.VoterIdentity(user.ID)] = record.Name{Name: user.Name}
	}
	return names, nil
}
