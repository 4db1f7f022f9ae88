package chain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pnyx/follow/fetch"
	"pnyx/warehouse"
)

// maxNamed bounds the events and proposals that are named.
const maxNamed = 3

// noteLacking says in the cursor of each Governor what its contract states and is not held:
// logs that are not read, votes on proposals that no log creates, a counting mode that is not
// known. It asks the warehouse only after something changed that may bear on it.
func (c *Chain) noteLacking(ctx context.Context) error {
	if !c.unsure.Swap(false) {
		return nil
	}
	err := c.sayLacking(ctx)
	if err != nil {
		c.unsure.Store(true)
	}
	return err
}

func (c *Chain) sayLacking(ctx context.Context) error {
	unread, err := c.journal.Warehouse.UnreadChainLogs(ctx, c.ChainID, topics(eventParameters, eventUpgraded), topics(eventCreated))
	if err != nil {
		return err
	}
	var changed []warehouse.FollowCursor
	for _, g := range c.governors {
		cursor := c.journal.Cursor(g.source, laneBackfill)
		if lacks := g.lacks(unread); lacks != cursor.Lacks {
			cursor.Lacks = lacks
			changed = append(changed, cursor)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	_, err = c.journal.Commit(ctx, nil, changed...)
	return err
}

// lacks says what of a Governor is not held; empty for nothing.
func (g *governor) lacks(unread []warehouse.UnreadChainLog) string {
	var events, proposals, lacks []string
	var logs, votes uint64
	for _, u := range unread {
		switch {
		case u.Governor != g.address:
		case u.ProposalID == "":
			events, logs = append(events, u.Topic), logs+u.Logs
		default:
			proposals, votes = append(proposals, u.ProposalID), votes+u.Logs
		}
	}
	if logs > 0 {
		lacks = append(lacks, fmt.Sprintf("%d logs of events that are not known, or not coded as declared: %s", logs, named(events)))
	}
	if votes > 0 {
		lacks = append(lacks, fmt.Sprintf("%d logs about %d proposals that no known event creates: %s", votes, len(proposals), named(proposals)))
	}
	if mode := g.known().UnknownMode; mode != "" {
		lacks = append(lacks, fmt.Sprintf("the counting mode %q is not known", fetch.Clip(mode)))
	}
	return strings.Join(lacks, "; ")
}

// named lists the first of some names.
func named(names []string) string {
	slices.Sort(names)
	if len(names) > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}
