package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse"
)

// Check implements follow.Upstream.
func (h *Hub) Check(ctx context.Context) []follow.Check {
	checks := make([]follow.Check, 0, len(h.Spaces))
	for batch := range slices.Chunk(h.Spaces, maxIn) {
		var heads []spaceHead
		got, err := h.ask(ctx, "spaces", map[string]any{"ids": withSpellings(batch)})
		if err == nil {
			err = fetch.Decode(got["spaces"], &heads)
		}
		found, err := warehouse.Keyed(heads, err, func(head spaceHead) (string, spaceHead) { return head.ID, head })
		for _, id := range batch {
			checks = append(checks, h.check(id, found, err))
		}
	}
	return checks
}

func (h *Hub) check(id string, found map[string]spaceHead, err error) follow.Check {
	const maxPages = 1_000_000 // bounds the pages that an estimate believes
	c := follow.Check{Source: string(governance.Snapshot) + ":" + id, Limit: "100 requests a minute from one address"}
	if h.APIKey != "" {
		c.Limit = "the API key's"
	}
	head, known := found[id]
	switch {
	case err != nil:
		c.Problem, c.Silent = err.Error(), true
		return c
	case !known:
		c.Problem = h.missingText(id, governance.Nearest(id, slices.Sorted(maps.Keys(found))))
		return c
	}
	day := func(interval time.Duration) int { return int(24 * time.Hour / interval) }
	c.Is = fmt.Sprintf("Snapshot space %s, %d proposals, %d votes", head.Name, head.ProposalsCount, head.VotesCount)
	listings := 1 + int(head.ProposalsCount)/maxFirst //nolint:gosec // a count of proposals
	// All spaces share a poll of the log, or two with open votes, and one look at what is open.
	share := len(h.Spaces)
	c.RequestsPerDay = listings + (day(logInterval)+share-1)/share
	c.RequestsPerDayBusy = listings + (2*day(logInterval)+day(lookInterval)+share-1)/share
	pages := 2 + head.ProposalsCount/proposalsPage + head.VotesCount/maxFirst
	c.Backfill = time.Duration(min(pages, maxPages)) * h.Host.Interval()
	return c
}
