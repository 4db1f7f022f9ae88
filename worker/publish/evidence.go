package publish

import (
	"context"

	"pnyx/cache"
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

// evaluateCounterparts returns the evaluations of the same proposals at other providers.
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
