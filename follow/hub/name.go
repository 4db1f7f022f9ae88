package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/warehouse/record"
)

// profiles asks for the names of users, by halves where one profile takes the others along.
func (p *reader) profiles(ctx context.Context, users []string) (map[string]record.Name, error) {
	names := map[string]record.Name{}
	got, err := p.ask(ctx, "users", map[string]any{"ids": users})
	if errors.As(err, new(*rowError)) {
		if len(users) == 1 {
			return names, nil
		}
		for _, half := range [][]string{users[:len(users)/2], users[len(users)/2:]} {
			more, err := p.profiles(ctx, half)
			if err != nil {
				return nil, err
			}
			maps.Copy(names, more)
		}
		return names, nil
	}
	var rows []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err == nil {
		err = fetch.Decode(got["users"], &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("read profiles: %w", err)
	}
	for _, user := range rows {
		names[governance.VoterIdentity(user.ID)] = record.Name{Name: user.Name}
	}
	return names, nil
}
