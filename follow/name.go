package follow

import (
	"context"
	"time"

	"pnyx/clock"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// PollerNames is the poller of names.
	PollerNames = "names"
	// namesInterval is the time between two looks for voters without a name.
	namesInterval = time.Hour
	// refreshAfter is the time from the beginning of one round of all known names to the next.
	refreshAfter = 3 * 24 * time.Hour
	// maxAsked bounds the voters that are asked for at once, maxWaiting those that wait in memory.
	maxAsked, maxWaiting = 100, 5000
)

// Names asks an upstream for the names of voters: at once for new ones, and in rounds of days for all others.
type Names struct {
	Journal *Journal
	// Source and Provider are as in records.NameSearch; Provider is of the poller's cursor too.
	Source   governance.NameSource
	Provider governance.Provider
	// Ask returns what upstream states of some voters, at most 100. A voter who is missing has no name.
	Ask func(ctx context.Context, voters []string) (map[string]record.Name, error)

	waiting []string
	// refreshing is true if those who wait are of a round.
	refreshing bool
}

type round struct {
	// Began is when the round began, in seconds; After the last voter, empty when the round is complete.
	Began int64  `json:"began"`
	After string `json:"after"`
}

// Poller returns the poller.
func (n *Names) Poller() Poller {
	return Poller{Name: PollerNames, Interval: namesInterval, Run: n.run}
}

func (n *Names) run(ctx context.Context) (more bool, err error) {
	var at round
	cursor := n.Journal.At(record.SourceRef{Provider: n.Provider}, PollerNames, &at)
	if len(n.waiting) == 0 {
		if err := n.find(ctx, &at); err != nil {
			return false, err
		}
	}
	asked := n.waiting[:min(len(n.waiting), maxAsked)]
	if len(asked) == 0 {
		if at.After == "" {
			return false, nil
		}
		at.After = ""
	} else if n.refreshing {
		at.After = asked[len(asked)-1]
	}
	records, err := n.ask(ctx, asked)
	if err != nil {
		return false, err
	}
	cursor.SetPosition(at)
	if err := n.Journal.Commit(ctx, records, cursor); err != nil {
		return false, err
	}
	n.waiting = n.waiting[len(asked):]
	return len(asked) > 0, nil
}

// find reads who is to be asked for next.
func (n *Names) find(ctx context.Context, at *round) (err error) {
	search := records.NameSearch{Source: n.Source, Provider: n.Provider, Limit: maxWaiting}
	n.refreshing = false
	if n.waiting, err = records.Nameless(ctx, n.Journal.Warehouse, search); err != nil {
		return err
	}
	now := n.Journal.Clock.Now()
	if len(n.waiting) > 0 {
		if at.Began == 0 { // the first round begins days after the first names
			at.Began = now.Unix()
		}
		return nil
	}
	if at.After == "" {
		if clock.Elapsed(now, time.Unix(at.Began, 0)) < refreshAfter {
			return nil
		}
		at.Began = now.Unix()
	}
	n.refreshing = true
	n.waiting, err = records.AskedForNames(ctx, n.Journal.Warehouse, search, at.After)
	return err
}

func (n *Names) ask(ctx context.Context, voters []string) ([]record.Record, error) {
	if len(voters) == 0 {
		return nil, nil
	}
	names, err := n.Ask(ctx, voters)
	records := make([]record.Record, len(voters))
	for i, voter := range voters {
		name := names[voter]
		name.Voter, name.Source = voter, n.Source
		records[i] = &name
	}
	return records, err
}
