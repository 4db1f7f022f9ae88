package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type correctedResult struct {
	was, is     counts.ProposalState
	evaluation  *evaluation
	corrections []counts.Correction
}

// recordCorrections writes how final results differ from those published before. While records arrive, it waits for
// the result that they come to.
func (p *proposalPublication) recordCorrections(
	ctx context.Context, published map[record.RefHash]counts.ProposalState, counted []*evaluation,
) error {
	var refs []record.RefHash
	var changed []correctedResult
	for _, e := range counted {
		ref := e.proposal.Ref
		was, exists := p.uncorrected[ref]
		if !exists {
			was, exists = published[ref]
		}
		delete(p.uncorrected, ref)
		if !exists || e.proposal.Withdrawn {
			continue
		}
		if c := p.correctedBy(was, e); len(c.corrections) > 0 {
			refs, changed = append(refs, ref), append(changed, c)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	earlier, err := counts.Corrections(ctx, p.Warehouse, refs)
	if err != nil {
		return err
	}
	anyArrive, err := records.Arriving(ctx, p.Warehouse, refs, nil, p.At)
	if err != nil {
		return err
	}
	var corrections []counts.Correction
	for _, c := range changed {
		ref := c.was.Ref
		// What follows a correction is one, too.
		follows := len(earlier[ref]) > 0 && earlier[ref][0].Revision == c.was.Revision
		if !follows && !p.wasWhole(c) {
			continue
		}
		arrives := anyArrive
		if arrives {
			if arrives, err = records.Arriving(ctx, p.Warehouse, []record.RefHash{ref}, nil, p.At); err != nil {
				return err
			}
		}
		if arrives {
			p.uncorrected[ref] = c.was
			continue
		}
		corrections = append(corrections, c.corrections...)
	}
	return counts.WriteCorrections(ctx, p.Warehouse, corrections)
}

// correctedBy returns what differs between a published result and the next; nothing unless both are final.
func (p *proposalPublication) correctedBy(was counts.ProposalState, e *evaluation) (c correctedResult) {
	if !isFinal(was) {
		return c
	}
	is := e.state(p.Revision)
	if !isFinal(is) {
		return c
	}
	c = correctedResult{was: was, is: is, evaluation: e}
	now := map[string]figure{}
	for _, f := range figuresOf(is) {
		now[f.field] = f
	}
	for _, f := range figuresOf(was) {
		next := now[f.field]
		if f.text == nil || !f.differs(next, e.proposal.Provider, was.Basis == is.Basis) ||
			f.field == winnerField && is.Outcome == governance.Canceled {
			continue
		}
		c.corrections = append(c.corrections, counts.Correction{
			Ref: was.Ref, FromRevision: was.Revision, Revision: p.Revision, Correction: governance.Correction{
				Field: f.field, From: *f.text, To: next.text, At: governance.TimestampOf(p.At), Reason: correctionReason(was, is),
			},
		})
	}
	return c
}

func isFinal(s counts.ProposalState) bool {
	return s.Lifecycle == governance.Closed && s.VoteReady && s.Settled && !hasFlag(s, rules.Provisional)
}

func hasFlag(s counts.ProposalState, flag governance.QualityFlag) bool {
	return slices.Contains(s.QualityFlags, string(flag))
}

// correctionReason returns why a result changed; if ballots and statement did, by what the new one is made of.
func correctionReason(was, is counts.ProposalState) governance.CorrectionReason {
	known := was.StatedFingerprint != 0
	late := was.Votes != is.Votes || !was.Power.Equal(is.Power) || known && broughtBallots(was, is)
	restated := known && was.StatedFingerprint != is.StatedFingerprint
	switch {
	case hasFlag(is, rules.TotalsRecounted) && !hasFlag(was, rules.TotalsRecounted):
		return governance.OwnRecount
	case restated && (is.Basis == governance.UpstreamBasis || !late):
		return governance.UpstreamRecount
	case late:
		return governance.LateBallots
	}
	return governance.NewRule
}

// broughtBallots reports whether an import after the import of the newest ballot of a result brought others.
func broughtBallots(was, is counts.ProposalState) bool {
	return is.BallotsObservedAt != nil && (was.BallotsObservedAt == nil || *is.BallotsObservedAt > *was.BallotsObservedAt)
}

// wasWhole reports whether a final result was known to have every ballot: upstream confirmed it, or the change came
// after an import had ended, with ballots that are not the rest of that import.
func (p *proposalPublication) wasWhole(c correctedResult) bool {
	if c.was.Votes == 0 && !c.was.Confirmed {
		return false // nothing was counted: its ballots are the first
	}
	is, reason := c.is, c.corrections[0].Reason
	ended, cameAt := p.sourceOf(c.evaluation).FirstImportEndedAt, governance.TimestampOf(p.At)
	switch {
	case reason == governance.UpstreamRecount:
		cameAt = c.evaluation.proposal.ObservedAt
	case reason == governance.LateBallots && is.Votes >= c.was.Votes:
		if !broughtBallots(c.was, is) {
			return false
		}
		cameAt = *is.BallotsObservedAt
	}
	return c.was.Confirmed || ended != nil && cameAt >= *ended
}

func (p *proposalPublication) stateOf(e *evaluation) counts.ProposalState {
	state, follow := e.state(p.Revision), p.sourceOf(e).Follow
	state.Confirmed = isFinal(state) && (state.Basis == governance.UpstreamBasis || e.proposal.StatedVotes != nil ||
		follow != nil && follow.Complete)
	return state
}

func (p *proposalPublication) sourceOf(e *evaluation) records.CatalogSource {
	return p.catalog.Sources[record.SourceRef{Provider: e.proposal.Provider, ID: e.proposal.SourceID}]
}

const (
	outcomeField = "outcome"
	winnerField  = "result.choiceKey"
)

// figure is one figure of a result as callers see it; text is nil if unknown, power where it is none.
type figure struct {
	field string
	text  *string
	power *decimal.Decimal
}

func figuresOf(s counts.ProposalState) []figure {
	power := func(field string, amount decimal.Decimal) figure {
		return figure{field: field, text: new(string(governance.DecimalOf(amount))), power: &amount}
	}
	votes, quorum := figure{field: "totals.votes"}, figure{field: "quorum.reached"}
	outcome, winner := figure{field: outcomeField}, figure{field: winnerField}
	if s.TotalVotes != nil {
		votes.text = new(string(governance.CountOf(*s.TotalVotes)))
	}
	if s.QuorumReached != nil {
		quorum.text = new(strconv.FormatBool(*s.QuorumReached))
	}
	if s.Outcome != governance.Unknown && s.Outcome != governance.Canceled {
		outcome.text = new(string(s.Outcome))
	}
	result := voteResult{settled: s.Settled, choices: s.Choices, scores: s.Scores, power: s.TotalPower}
	if won := result.winner(); won != nil && s.Outcome != governance.Canceled {
		winner.text = won.ChoiceKey
	}
	list := []figure{votes, power("totals.votingPower", s.TotalPower), quorum, outcome, winner}
	for i, score := range s.Scores {
		list = append(list, power("choices."+s.Choices[i].Key+".votingPower", score.Power))
	}
	return list
}

// differs compares a known figure with the next. Executed, canceled and undecided are later states of an outcome,
// not other ones. Two bases agree in upstream's precision.
func (f figure) differs(next figure, provider governance.Provider, sameBasis bool) bool {
	switch {
	case f.field == outcomeField:
		return next.text != nil && outcomesDiffer(governance.Outcome(*f.text), governance.Outcome(*next.text))
	case next.text == nil:
		return true
	case f.power != nil && !sameBasis:
		return differ(provider, *f.power, *next.power)
	}
	return *f.text != *next.text
}

// statedFingerprint is the fingerprint of what upstream states of a vote and its result; never zero.
func statedFingerprint(p records.Proposal) uint64 {
	stated, _ := json.Marshal([]any{ //nolint:errchkjson // plain values
		p.State, p.UpstreamStatus, p.StatedVotes, p.StatedScores, p.StatedScoresTotal, p.StatedChoiceVotes, p.ScoresState,
		p.QuorumRaw, p.Quorum, p.QuorumType, p.QuorumChoices, p.VoteType, p.Choices, p.StartAt, p.EndAt, p.Provisional,
	})
	hash := fnv.New64a()
	hash.Write(stated)
	return cmp.Or(hash.Sum64(), 1)
}
