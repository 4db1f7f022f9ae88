package publish

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// mirrors are the proposals of Governors that other providers state too, which are not published beside them.
type mirrors struct {
	// of are the mirrors of a Governor's proposal, in the same DAO.
	of       map[record.RefHash][]records.Mirror
	original map[record.RefHash]record.RefHash // the proposal that supersedes a mirror
}

// newMirrors selects those that are superseded: the DAO has the Governor's proposal as well, not withdrawn.
func newMirrors(found []records.Mirror, catalog records.Catalog) mirrors {
	m := mirrors{of: map[record.RefHash][]records.Mirror{}, original: map[record.RefHash]record.RefHash{}}
	for _, mirror := range found {
		owner := catalog.OwnerOf(record.SourceRef{Provider: governance.Governor, ID: mirror.Governor})
		if mirror.OriginalWithdrawn || owner != catalog.OwnerOf(record.SourceRef{Provider: mirror.Provider, ID: mirror.SourceID}) {
			continue
		}
		m.of[mirror.Original] = append(m.of[mirror.Original], mirror)
		m.original[mirror.Ref] = mirror.Original
	}
	return m
}

// replaceIn puts originals in the place of mirrors: what a proposal at a third provider is compared with.
func (m mirrors) replaceIn(counterparts map[record.RefHash][]record.RefHash) {
	for mirror, original := range m.original {
		for _, other := range counterparts[mirror] {
			counterparts[other] = slices.DeleteFunc(counterparts[other], func(ref record.RefHash) bool { return ref == mirror })
			if other != original && !slices.Contains(counterparts[other], original) {
				counterparts[other] = append(counterparts[other], original)
				counterparts[original] = append(counterparts[original], other)
			}
		}
		delete(counterparts, mirror)
	}
}

// namesOf returns the names of a Governor's proposal at Tally: by its number on chain, and as its mirrors.
func (m mirrors) namesOf(p records.Proposal, dao records.CatalogDAO) []string {
	var names []string
	for _, mirror := range m.of[p.Ref] {
		names = append(names, mirror.Provider.LinkNames(mirror.SourceID, mirror.ExternalID, mirror.SourceURL)...)
	}
	if p.Provider != governance.Governor {
		return names
	}
	for _, number := range p.Provider.ExternalIDs(p.ExternalID)[1:] {
		for _, source := range dao.Sources {
			if source.Provider == governance.Tally {
				names = append(names, source.Provider.LinkNames(source.ID, number, "")...)
			}
		}
	}
	return names
}

// mirrorConflicts returns, for proposals of Governors, where their mirrors state that they execute something else.
func (p *proposalPublication) mirrorConflicts(ctx context.Context, evaluations []*evaluation) (map[record.RefHash][]governance.Warning, error) {
	var refs []record.RefHash
	var originals []records.Proposal
	conflicts := map[record.RefHash][]governance.Warning{}
	for _, e := range evaluations {
		for _, mirror := range p.mirrors.of[e.proposal.Ref] {
			refs, originals = append(refs, mirror.Ref), append(originals, e.proposal)
		}
	}
	if len(refs) == 0 {
		return conflicts, nil
	}
	proposals, err := records.Proposals(ctx, p.Warehouse, refs)
	if err != nil {
		return nil, err
	}
	proposals = append(proposals, originals...)
	actions, err := records.Actions(ctx, p.Warehouse, proposals)
	if err != nil {
		return nil, err
	}
	whole := map[record.RefHash]bool{}
	for _, of := range proposals {
		whole[of.Ref] = of.StatedActions != nil && uint64(len(actions[of.Ref])) == *of.StatedActions
	}
	for _, e := range evaluations {
		ref := e.proposal.Ref
		for _, mirror := range p.mirrors.of[ref] {
			here, there := actions[ref], actions[mirror.Ref]
			if at := firstDifference(here, there); whole[ref] && whole[mirror.Ref] && at >= 0 {
				conflicts[ref] = append(conflicts[ref], rules.NewWarning(rules.ActionsDiffer, map[string]string{
					"provider": string(mirror.Provider), "here": strconv.Itoa(len(here)), "there": strconv.Itoa(len(there)), "action": strconv.Itoa(at),
				}))
			}
		}
	}
	return conflicts, nil
}

// firstDifference returns the place of the first call that two lists do not have in common; -1 for equal lists.
func firstDifference(here, there []record.Action) int {
	input := func(a *record.Action) []byte {
		if a.Signature == "" {
			return a.Calldata
		}
		selector := abi.SelectorOf(a.Signature)
		return append(selector[:], a.Calldata...)
	}
	for at := range min(len(here), len(there)) {
		a, b := &here[at], &there[at]
		if a.Target != b.Target || a.Value != b.Value || a.Delegate != b.Delegate || !bytes.Equal(input(a), input(b)) {
			return at
		}
	}
	if len(here) == len(there) {
		return -1
	}
	return min(len(here), len(there))
}
