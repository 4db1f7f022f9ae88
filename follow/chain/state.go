package chain

import (
	"context"
	"errors"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse/records"
)

// abandonedAfter is the time after which an open or a queued proposal is asked about by the hour alone.
const abandonedAfter = 30 * 24 * time.Hour

// pollState asks about the proposals that may change without a log: queued ones, those with a time or a quorum to be
// known, those whose voting begins, and open ones: contracts move ends and quorums, and decide early.
func (c *Chain) pollState(ctx context.Context) (more bool, err error) {
	var failed error
	now := c.Clock.Now()
	final := c.cursor(pollerFinal).UpstreamAt
	for _, g := range c.governors {
		var due []records.ChainLogKey
		c.writing.Lock()
		for id, n := range g.notes {
			if n.isDue(now) || n.lacksFinalQuorum(final) {
				due = append(due, records.ChainLogKey{Governor: g.address, ProposalID: id})
			}
		}
		c.writing.Unlock()
		ask := func(some []records.ChainLogKey) error {
			return c.write(ctx, change{also: some, consult: true, final: c.at().final.Number})
		}
		for some := range slices.Chunk(due, maxBatch) { // one Governor that cannot be asked holds up no other, and no proposal
			err := ask(some)
			if len(some) > 1 && c.isRefused(ctx, g, err) {
				err = nil
				for one := range slices.Chunk(some, 1) {
					err = errors.Join(err, ask(one))
				}
			}
			failed = errors.Join(failed, err)
		}
	}
	return false, errors.Join(failed, c.noteLacking(ctx), counter{c}.countEnded(ctx), counter{c}.countOpen(ctx), tokens{c}.readSupplies(ctx), tokens{c}.readPastSupplies(ctx), tokens{c}.readPowers(ctx), observer{c}.observe(ctx))
}

// abandoned reports whether a moment is so long ago that a change is unlikely.
func abandoned(m moment, now time.Time) bool {
	return m.At != nil && now.Sub(m.At.Time()) > abandonedAfter
}

// isDue reports whether a contract may say something new about a proposal.
func (n *note) isDue(now time.Time) bool {
	passed := func(m moment) bool { return m.At != nil && m.At.Time().Before(now) }
	switch {
	case n.unwritten, n.Rules == nil, n.Start.Value == "", n.Rules.outdated(), passed(n.Start) && (!n.Start.Settled || !n.QuorumKnown), passed(n.End) && !n.End.Settled:
		return true
	case n.State == "pending":
		return passed(n.Start)
	case n.State == "active":
		return !abandoned(n.Start, now) || now.Minute() == 0 || passed(n.End)
	case n.State == "queued", n.State == "succeeded", !governance.IsKnownState(n.State):
		return !abandoned(n.End, now) || now.Minute() == 0
	default:
		return false
	}
}
