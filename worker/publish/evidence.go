package publish

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// writeEvidence writes provenance, conflicts and, until the dossier is computed, the analysis that was imported.
func (p *proposalPublication) writeEvidence(ctx context.Context, evaluations []*evaluation) error {
	refs, hashes := make([]record.ProposalRef, len(evaluations)), make([]record.RefHash, len(evaluations))
	for i, e := range evaluations {
		refs[i], hashes[i] = e.proposal.ProposalRef, e.proposal.Ref
	}
	analyses, err := records.Evidence(ctx, p.Warehouse, refs)
	if err != nil {
		return err
	}
	counterparts, err := p.evaluateCounterparts(ctx, evaluations)
	if err != nil {
		return err
	}
	corrections, err := counts.Corrections(ctx, p.Warehouse, hashes)
	if err != nil {
		return err
	}
	conflicts, err := p.mirrorConflicts(ctx, evaluations)
	if err != nil {
		return err
	}
	for _, e := range evaluations {
		evidence := e.evidence(counterparts[e.proposal.Ref])
		evidence.Warnings = append(evidence.Warnings, conflicts[e.proposal.Ref]...)
		for _, c := range corrections[e.proposal.Ref] {
			evidence.Corrections = append(evidence.Corrections, c.Correction)
		}
		if analysis, exists := analyses[e.proposal.ProposalRef]; exists {
			evidence.Intelligence = intelligence(analysis)
		}
		head := p.head()
		head.FreshUntil = e.nextChangeAt
		p.writer.SetPayload(ctx, cache.EvidenceKey(e.key), head, evidence)
	}
	return nil
}

func (p *proposalPublication) evaluateCounterparts(
	ctx context.Context, evaluations []*evaluation,
) (map[record.RefHash][]*evaluation, error) {
	evaluated := map[record.RefHash]*evaluation{}
	for _, e := range evaluations {
		evaluated[e.proposal.Ref] = e
	}
	var missing []record.RefHash // in another chunk
	for _, e := range evaluations {
		for _, other := range p.counterparts[e.proposal.Ref] {
			if evaluated[other] == nil {
				missing = append(missing, other)
			}
		}
	}
	if len(missing) > 0 {
		others, err := p.evaluate(ctx, missing)
		if err != nil {
			return nil, err
		}
		for i := range others {
			evaluated[others[i].proposal.Ref] = &others[i]
		}
	}
	found := map[record.RefHash][]*evaluation{}
	for _, e := range evaluations {
		for _, other := range p.counterparts[e.proposal.Ref] {
			if counterpart, exists := evaluated[other]; exists && !counterpart.proposal.Withdrawn {
				found[e.proposal.Ref] = append(found[e.proposal.Ref], counterpart)
			}
		}
	}
	return found, nil
}

// evidence returns the payload of the proposal's evidence view, without an analysis.
func (e *evaluation) evidence(counterparts []*evaluation) governance.Evidence {
	return governance.Evidence{
		Proposal: governance.EvidenceProposal{
			ProposalKey: e.key, Title: governance.OptionalText(e.proposal.Title),
			SourceURL: governance.OptionalText(e.proposal.SourceURL),
		},
		Provenance:   e.provenance(),
		Intelligence: governance.NoIntelligence(),
		QualityFlags: append([]governance.QualityFlag{}, e.flags...),
		Warnings:     append(append([]governance.Warning{}, e.conflicts...), e.conflictsWith(counterparts)...),
		Corrections:  []governance.Correction{},
	}
}

// intelligence returns an analysis in the bytes that were imported: nothing decodes a dossier.
func intelligence(analysis record.Evidence) governance.Intelligence {
	return governance.Intelligence{
		Status:          governance.IntelligenceAvailable,
		ArtifactVersion: governance.OptionalText(analysis.ArtifactVersion),
		GeneratedAt:     &analysis.GeneratedAt,
		Dossier:         json.RawMessage(analysis.Dossier),
		SourceRefs:      json.RawMessage(analysis.SourceRefs),
		Warnings:        json.RawMessage(analysis.Warnings),
	}
}

// provenance returns the source of each known field, in the order of the proposal's detail.
func (e *evaluation) provenance() []governance.Provenance {
	p := e.proposal
	own := recordOf(p)
	fields := []struct {
		name   string
		known  bool
		source origin
	}{
		{"title", p.Title != "", e.titleOrigin()},
		{"bodyText", p.Body != "", own},
		{"proposerId", p.ProposerID != "", own},
		{"sourceUrl", p.SourceURL != "", own},
		{"discussionUrl", p.DiscussionURL != "", own},
		{"lifecycleStatus", true, e.lifecycleOrigin()},
		{"outcome", e.outcome != governance.Unknown, e.outcomeOrigin()},
		{"choices", len(e.result.choices) > 0, e.choicesOrigin()},
		{"quorumRaw", p.QuorumRaw != "", own},
		{"startAt", p.StartAt != nil, own},
		{"endAt", p.EndAt != nil, own},
		{"ballots", e.ballots.Votes > 0, own.votes(e.ballots)},
	}
	provenance := []governance.Provenance{}
	for _, field := range fields {
		if field.known {
			provenance = append(provenance, governance.Provenance{
				Field: field.name, Source: field.source.name, Origin: governance.OptionalText(field.source.statedBy),
				Provider: p.Provider, ObservedAt: field.source.observedAt,
			})
		}
	}
	return provenance
}

// origin is an upstream record or a part of one, what states it (record.Proposal.Origin), and when it was observed.
type origin struct {
	name, statedBy string
	observedAt     governance.Timestamp
}

// recordOf returns the record of a proposal. A Governor's id begins with its source, which is not repeated.
func recordOf(p records.Proposal) origin {
	id := strings.TrimPrefix(p.ExternalID, p.SourceID+"/")
	return origin{name: p.SourceID + "/proposals/" + id, statedBy: p.Origin, observedAt: p.ObservedAt}
}

func (o origin) votes(ballots counts.VoteTotals) origin {
	return origin{name: o.name + "/votes", observedAt: ballots.ObservedAt}
}

func (o origin) statement(name string) origin {
	o.name += "#" + name
	return o
}

// Fields of upstream records that every provider has; the others are named by governance.Provider.
const (
	scoresField = "scores"
	timesFields = "start,end"
)

// lifecycleOrigin returns what lifecycleOf decided by, and follows its order.
func (e *evaluation) lifecycleOrigin() origin {
	p, own := e.proposal, recordOf(e.proposal)
	switch {
	case governance.IsVoteOver(p.State, p.UpstreamStatus):
		return own.statement(p.Provider.EndField(p.State))
	case p.StartAt != nil || p.EndAt != nil:
		return own.statement(timesFields)
	case p.State == "":
		return own
	}
	return own.statement(p.Provider.StateField())
}

func (e *evaluation) titleOrigin() origin {
	if e.proposal.TitleDerived {
		return recordOf(e.proposal).statement("body")
	}
	return recordOf(e.proposal)
}

// outcomeOrigin returns what outcomeOf decided by: ballots, or the proposal with its quorum where that is newer.
func (e *evaluation) outcomeOrigin() origin {
	p, own := e.proposal, recordOf(e.proposal)
	_, stated := p.Provider.StatedOutcome(p.State, p.UpstreamStatus)
	switch {
	case stated:
		return own.statement(p.Provider.OutcomeField())
	case e.result.from == governance.UpstreamBasis:
		return own.statement(scoresField)
	case e.ballots.Votes == 0:
		return own
	}
	counted := own.votes(e.ballots)
	counted.observedAt = max(counted.observedAt, own.observedAt)
	return counted
}

func (e *evaluation) choicesOrigin() origin {
	own := recordOf(e.proposal)
	if len(e.proposal.Choices) == 0 {
		return own.votes(e.ballots)
	}
	return own
}

// conflictsWithin returns what is at odds in one provider's data: statements with ballots, or with each other.
func (e *evaluation) conflictsWithin() []governance.Warning {
	return slices.Concat(e.ballotConflicts(), e.stateConflicts(), e.outcomeConflict())
}

// upstreamFlags says whether upstream's figures do not follow from the same ballots. It reads e.conflicts.
func (e *evaluation) upstreamFlags() []governance.QualityFlag {
	stated := e.proposal.StatedVotes
	more := e.result.ready() && stated != nil && e.ballots.Votes > *stated
	differs := func(w governance.Warning) bool { return w.Code == rules.TotalDiffers || w.Code == rules.ScoresDiffer }
	return raised(map[governance.QualityFlag]bool{
		rules.TotalsDifferUpstream: more || slices.ContainsFunc(e.conflicts, differs),
	})
}

// ballotConflicts compares stored ballots with what upstream states: their sums only where there are at least as many.
func (e *evaluation) ballotConflicts() (found []governance.Warning) {
	p, votes, total := e.proposal, e.proposal.StatedVotes, e.proposal.StatedScoresTotal
	held := string(governance.CountOf(e.ballots.Votes))
	if p.LacksBallots && e.result.coverage != governance.Complete {
		found = append(found, rules.NewWarning(rules.BallotsRejected, map[string]string{"held": held}))
	}
	if !e.result.ready() {
		return found
	}
	if votes != nil && *votes != e.ballots.Votes {
		found = append(found, rules.NewWarning(rules.VotesDiffer, map[string]string{
			"upstream": string(governance.CountOf(*votes)), "held": held,
		}))
	}
	if votes == nil && !p.Provider.HasEveryBallot() || votes != nil && e.ballots.Votes < *votes {
		return found
	}
	if total != nil && e.result.totalDiffers(p) {
		found = append(found, rules.NewWarning(rules.TotalDiffers, map[string]string{
			"upstream": total.String(), "held": e.ballots.Power.String(),
		}))
	}
	for _, i := range e.result.scoresThatDiffer(p) {
		found = append(found, rules.NewWarning(rules.ScoresDiffer, map[string]string{
			"choiceKey": e.result.choices[i].Key,
			"upstream":  p.StatedScores[i].String(), "held": e.result.counted[i].Power.String(),
		}))
	}
	return found
}

// differ reports whether amounts differ in upstream's precision: Snapshot's floating point is
// off by less than one part in 10⁹; see rules.WarningRules.
func differ(p governance.Provider, upstream, stored decimal.Decimal) bool {
	if p.IsOnchain() {
		return !upstream.Equal(stored)
	}
	larger := decimal.Max(upstream, stored, decimal.NewFromInt(1))
	return upstream.Sub(stored).Abs().GreaterThan(larger.Shift(-9))
}

func (e *evaluation) stateConflicts() []governance.Warning {
	p := e.proposal
	isOpen := governance.IsOpenState
	var conflicts []governance.Warning
	if !governance.IsKnownState(p.State) {
		return []governance.Warning{rules.NewWarning(rules.StateUnknown, map[string]string{"state": p.State})}
	}
	if outcome, stated := governance.DAOStatusOutcome(p.UpstreamStatus); stated && p.State != "" {
		openThere := isOpen(p.UpstreamStatus)
		if isOpen(p.State) != openThere && (openThere || outcome != governance.Unknown) {
			conflicts = append(conflicts, rules.NewWarning(rules.StatusDiffers, map[string]string{
				"state": p.State, "status": p.UpstreamStatus,
			}))
		}
	}
	// Where only the day of the end is known, the vote may have ended late on that day.
	if isOpen(p.State) && p.EndAt != nil && !p.EndDayOnly && *p.EndAt < p.ObservedAt {
		conflicts = append(conflicts, rules.NewWarning(rules.StateOutdated, map[string]string{
			"state": p.State, "endAt": p.EndAt.String(), "observedAt": p.ObservedAt.String(),
		}))
	}
	return conflicts
}

// outcomeConflict compares the stated outcome with the result where it states how the vote went: one that was
// canceled, expired or lacked budget may have been won.
func (e *evaluation) outcomeConflict() []governance.Warning {
	p := e.proposal
	outcome, stated := p.Provider.StatedOutcome(p.State, p.UpstreamStatus)
	votedOn := stated && (outcome == governance.Passed || outcome == governance.Executed ||
		p.State == "defeated" || p.UpstreamStatus == "rejected")
	if !votedOn {
		return nil
	}
	counted := e.result.decide(p)
	agree := (counted == governance.Failed) == (outcome == governance.Failed)
	if counted == governance.Unknown || agree {
		return nil
	}
	return []governance.Warning{rules.NewWarning(rules.OutcomeDiffersFromVotes, map[string]string{
		"stated": string(outcome), "counted": string(counted),
	})}
}

func (e *evaluation) conflictsWith(counterparts []*evaluation) []governance.Warning {
	var conflicts []governance.Warning
	for _, other := range counterparts {
		here, there := e.proposal.Title, other.proposal.Title
		stated := here != "" && there != "" && !e.proposal.TitleDerived && !other.proposal.TitleDerived
		if stated && plainTitle(here) != plainTitle(there) {
			conflicts = append(conflicts, e.conflictWith(other, rules.TitleDiffers, here, there))
		}
		if outcomesDiffer(e.outcome, other.outcome) {
			here, there := string(e.outcome), string(other.outcome)
			conflicts = append(conflicts, e.conflictWith(other, rules.OutcomeDiffers, here, there))
		}
	}
	return conflicts
}

func (e *evaluation) conflictWith(other *evaluation, code governance.WarningCode, here, there string) governance.Warning {
	return rules.NewWarning(code, map[string]string{
		"proposalKey": string(other.key), "provider": string(other.identity.Provider),
		"here": here, "there": there,
	})
}

func plainTitle(title string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(title, "#*_ ")), " "))
}

// outcomesDiffer compares outcomes, if both are known. What passes on Snapshot is executed on chain.
func outcomesDiffer(here, there governance.Outcome) bool {
	if here == governance.Unknown || there == governance.Unknown {
		return false
	}
	if here == governance.Executed {
		here = governance.Passed
	}
	if there == governance.Executed {
		there = governance.Passed
	}
	return here != there
}
