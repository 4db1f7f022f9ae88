package chain

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/warehouse/records"
)

// noteLacking says in the cursor of each Governor what its contract states and is not held: unread logs, votes on
// proposals that no log creates, an unknown counting mode. It asks only after a change that may bear on it.
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
	unread, err := records.UnreadChainLogs(ctx, c.journal.Warehouse, c.ChainID, topics(eventParameters, eventUpgraded), topics(eventCreated))
	if err != nil {
		return err
	}
	var changed []records.FollowCursor
	for _, g := range c.governors[:len(c.Governors)] {
		cursor := c.journal.Cursor(g.source, pollerBackfill)
		if cursor.State != governance.SourceLive {
			continue // what its past has may still be read
		}
		if lacks := c.lacks(g, unread); lacks != cursor.Lacks {
			cursor.Lacks = lacks
			changed = append(changed, cursor)
		}
	}
	return c.journal.Commit(ctx, nil, changed...)
}

// lacks says what of a Governor is not held; empty for nothing.
func (c *Chain) lacks(g *governor, unread []records.UnreadChainLog) string {
	modes, elsewhere := c.unknownRules(g)
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
	if elsewhere > 0 {
		lacks = append(lacks, fmt.Sprintf("the times of %d proposals, which count the blocks of another chain: name it as clockChain", elsewhere))
	}
	if len(modes) > 0 {
		lacks = append(lacks, fmt.Sprintf("%d counting modes are not known: %s", len(modes), named(modes)))
	}
	return strings.Join(lacks, "; ")
}

// unknownRules returns the counting modes with an unknown word, and the number of proposals with an unknown clock.
func (c *Chain) unknownRules(g *governor) (modes []string, elsewhere int) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, n := range g.notes {
		if n.Elsewhere && !n.Withdrawn {
			elsewhere++
		}
		if n.Rules != nil && !n.Withdrawn && n.Rules.UnknownMode != "" {
			modes = append(modes, strconv.Quote(fetch.Clip(n.Rules.UnknownMode)))
		}
	}
	slices.Sort(modes)
	return slices.Compact(modes), elsewhere
}

// named lists the first of some names.
func named(names []string) string {
	const maxNamed = 3 // bounds the events and proposals that are named
	slices.Sort(names)
	if len(names) > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}
