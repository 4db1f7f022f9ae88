package dossier

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/panics"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Read reads the records of dossiers, each kind with one statement for all. Detail and AsOf are set before. Where a
// proposal is gone, Proposal stays zero.
func Read(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	refs, identities := make([]record.RefHash, len(of)), make([]record.ProposalRef, len(of))
	for i, f := range of {
		identities[i] = record.ProposalRef{Provider: f.Detail.Identity.Provider, ExternalID: f.Detail.Identity.ExternalID}
		refs[i] = identities[i].Hash()
	}
	group, ctx := panics.WithContext(ctx)
	group.Go(func() error {
		casts, err := pages.CastsOn(ctx, w, refs)
		for i, f := range of {
			if cast := casts[refs[i]]; cast != nil {
				f.Casts = *cast
			}
		}
		return err
	})
	group.Go(func() error {
		analyses, err := records.Evidence(ctx, w, identities)
		for i, f := range of {
			if analysis, exists := analyses[identities[i]]; exists {
				f.Analysis = &analysis
			}
		}
		return err
	})
	group.Go(func() error {
		of, err := readProposals(ctx, w, of, refs)
		if err != nil || len(of) == 0 {
			return err
		}
		beside, ctx := panics.WithContext(ctx)
		beside.Go(func() error { return readDelegated(ctx, w, of) })
		beside.Go(func() error { return readStrongest(ctx, w, of) })
		beside.Go(func() error { return readReturning(ctx, w, of) })
		beside.Go(func() error { return readTopics(ctx, w, of, true) })
		beside.Go(func() error {
			proposals := warehouse.Values(of, func(f *Facts) records.Proposal { return f.Proposal })
			actions, err := records.Actions(ctx, w, proposals)
			if err != nil {
				return err
			}
			for _, f := range of {
				f.Actions = actions[f.Proposal.Ref]
			}
			return readAround(ctx, w, of)
		})
		return beside.Wait()
	})
	return group.Wait()
}

func readProposals(ctx context.Context, w *warehouse.Warehouse, of []*Facts, refs []record.RefHash) (found []*Facts, err error) {
	group, ctx := panics.WithContext(ctx)
	group.Go(func() error { return readKnown(ctx, w, of) })
	proposals, err := records.Proposals(ctx, w, refs)
	stored, err := warehouse.Keyed(proposals, err, func(p records.Proposal) (record.RefHash, records.Proposal) { return p.Ref, p })
	if err = errors.Join(err, group.Wait()); err != nil {
		return nil, err
	}
	for i, f := range of {
		if p, is := stored[refs[i]]; is {
			f.Proposal = p
			found = append(found, f)
		}
	}
	return found, nil
}

// ReadActions reads what findings on actions rest on. Proposal, Actions, Detail.Identity and ProposerID are set.
func ReadActions(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	if len(of) == 0 {
		return nil
	}
	if err := readKnown(ctx, w, of); err != nil {
		return err
	}
	if err := readTopics(ctx, w, of, false); err != nil {
		return err
	}
	return readAround(ctx, w, of)
}

func readKnown(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	var daoIDs, proposers []string
	for _, f := range of {
		daoIDs = append(daoIDs, f.Detail.Identity.DAOID)
		if id := f.proposerID(); id != "" {
			proposers = append(proposers, id)
		}
	}
	known, err := pages.KnownProposals(ctx, w, different(daoIDs), different(proposers))
	for _, f := range of {
		f.Known = nil
		for _, k := range known {
			if k.DAOID == f.Detail.Identity.DAOID || k.ProposerID != "" && k.ProposerID == f.proposerID() {
				f.Known = append(f.Known, k)
			}
		}
	}
	return err
}

func different(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

func readDelegated(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	for _, f := range of {
		if !f.hasSnapshot() {
			continue
		}
		delegated, err := pages.DelegatedAt(ctx, w, f.Proposal.VotingToken, f.Proposal.Ref, f.createdAt(), *f.Detail.StartAt)
		if err != nil {
			return err
		}
		f.Delegated = &delegated
	}
	return nil
}

func readStrongest(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	var lists [][]record.RefHash
	var votes uint64
	places := map[string]int{} // of equal lists
	list := make([]int, len(of))
	for i, f := range of {
		var refs []record.RefHash
		var key strings.Builder
		var own uint64
		for _, k := range f.endedIn(f.end()-governance.Timestamp(year.Milliseconds()), f.end()) {
			refs, own = append(refs, k.Ref), own+k.Votes
			key.Write(k.Ref[:])
		}
		place, is := places[key.String()]
		if !is {
			place, lists, votes = len(lists), append(lists, refs), votes+own
			places[key.String()] = place
		}
		list[i] = place
	}
	strongest, err := pages.StrongestVoters(ctx, w, lists, votes)
	if err != nil {
		return err
	}
	for i, f := range of {
		f.Strongest = strongest[list[i]]
	}
	return nil
}

func readReturning(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	var moments []pages.Moment
	began, ended := map[record.RefHash]bool{}, map[string]bool{} // ended is by DAO
	latest := map[string]governance.Timestamp{}                  // beginning, by DAO
	for _, f := range of {
		if daoID := f.Detail.Identity.DAOID; f.Detail.StartAt != nil {
			latest[daoID] = max(latest[daoID], *f.Detail.StartAt)
		}
	}
	for _, f := range of {
		if f.Detail.StartAt == nil || began[f.Proposal.Ref] {
			continue
		}
		began[f.Proposal.Ref] = true
		daoID := f.Detail.Identity.DAOID
		begins := pages.Moment{Ref: f.Proposal.Ref, DAOID: daoID, At: *f.Detail.StartAt, Begins: true}
		if own := slices.IndexFunc(f.Known, func(k pages.KnownProposal) bool { return k.Ref == begins.Ref }); own >= 0 {
			begins.Votes = f.Known[own].Votes
		}
		moments = append(moments, begins)
		if ended[daoID] {
			continue
		}
		ended[daoID] = true
		for _, k := range f.endedIn(math.MinInt64, latest[daoID]-1) {
			moments = append(moments, pages.Moment{Ref: k.Ref, DAOID: daoID, At: *k.EndAt, Votes: k.Votes})
		}
	}
	counts, err := pages.ReturningVoters(ctx, w, moments)
	for _, f := range of {
		f.Returning = counts[f.Proposal.Ref]
	}
	return err
}

// readTopics reads topics until the windows end and, if compares, when topics of compared proposals were opened.
func readTopics(ctx context.Context, w *warehouse.Warehouse, of []*Facts, compares bool) error {
	var refs []record.RefHash
	own := map[record.RefHash]bool{}
	for _, f := range of {
		refs, own[f.Proposal.Ref] = append(refs, f.Proposal.Ref), true
		if compares {
			refs = append(refs, warehouse.Values(f.compared(), func(k pages.KnownProposal) record.RefHash { return k.Ref })...)
		}
	}
	linked, err := pages.LinkedTopics(ctx, w, refs)
	if err != nil {
		return err
	}
	opened, topicsOf := map[record.RefHash]governance.Timestamp{}, map[record.RefHash]map[records.TopicRef]bool{}
	var topicRefs []records.TopicRef
	for _, l := range linked {
		if first, is := opened[l.ProposalRef]; l.CreatedAt != nil && (!is || *l.CreatedAt < first) {
			opened[l.ProposalRef] = *l.CreatedAt
		}
		if !own[l.ProposalRef] {
			continue
		}
		if topicsOf[l.ProposalRef] == nil {
			topicsOf[l.ProposalRef] = map[records.TopicRef]bool{}
		}
		topicsOf[l.ProposalRef][l.TopicRef], topicRefs = true, append(topicRefs, l.TopicRef)
	}
	var topics []records.Topic
	if len(topicRefs) > 0 {
		if topics, err = records.Topics(ctx, w, topicRefs); err != nil {
			return err
		}
	}
	for _, f := range of {
		f.OpenedAt, f.Topics = opened, nil
		for _, t := range topics {
			isLater := t.CreatedAt != nil && *t.CreatedAt > f.end()
			if !isLater && topicsOf[f.Proposal.Ref][records.TopicRef{Host: t.Host, ExternalID: t.ExternalID}] {
				f.Topics = append(f.Topics, t)
			}
		}
	}
	return nil
}

func readContracts(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	var daoIDs []string
	for _, f := range of {
		if len(f.Actions) > 0 {
			daoIDs = append(daoIDs, f.Detail.Identity.DAOID)
		}
	}
	if len(daoIDs) == 0 {
		return nil
	}
	contracts, err := records.Contracts(ctx, w, different(daoIDs))
	for _, f := range of {
		f.Contracts = contracts[f.Detail.Identity.DAOID]
	}
	return err
}

// readAround reads what nodes showed of the actions, what the DAO's history knows of their addresses and of the
// proposer, and what executed proposals did with them before.
func readAround(ctx context.Context, w *warehouse.Warehouse, of []*Facts) error {
	if err := readContracts(ctx, w, of); err != nil {
		return err
	}
	var acting, executed, votes []record.RefHash
	concerned, involved := make([][]string, len(of)), make([][]string, len(of))
	for i, f := range of {
		f.Histories = map[string]AddressHistory{}
		if len(f.Actions) > 0 {
			acting = append(acting, f.Proposal.Ref)
			concerned[i] = f.Concerned()
		}
		for _, k := range f.before() {
			if len(concerned[i]) > 0 && f.outcomeAt(k, f.end()) == governance.Executed && k.Payload != 0 {
				executed = append(executed, k.Ref)
			}
		}
		for _, p := range abi.Parties(f.decode()) {
			involved[i] = append(involved[i], p.Address)
		}
		if id := f.proposerID(); id != "" {
			involved[i] = append(involved[i], id)
		}
		if len(involved[i]) > 0 {
			votes = append(votes, warehouse.Values(f.endedIn(0, f.createdAt()-1), func(k pages.KnownProposal) record.RefHash { return k.Ref })...)
		}
	}
	observed, earlier := map[record.RefHash]records.Observation{}, map[record.RefHash][]record.Action{}
	if len(acting) > 0 {
		var err error
		if observed, err = records.Observations(ctx, w, acting); err != nil {
			return err
		}
		if earlier, err = records.AllActions(ctx, w, executed); err != nil {
			return err
		}
	}
	voted, err := pages.VotersOn(ctx, w, votes, slices.Concat(involved...))
	if err != nil {
		return err
	}
	for i, f := range of {
		f.setHistories(involved[i], voted)
		if len(f.Actions) == 0 {
			continue
		}
		if o := observed[f.Proposal.Ref]; o.Payload == record.PayloadOf(f.Actions) {
			f.Observed = &o // and not of other actions
		}
		f.setBefore(concerned[i], earlier)
	}
	return nil
}

func (f *Facts) proposerID() string { return warehouse.TextOrEmpty(f.Detail.ProposerID) }

// createdAt is when the proposal was created, or else when its vote began; 0 where that is not known.
func (f *Facts) createdAt() governance.Timestamp {
	if created := governance.FirstKnown(f.Proposal.CreatedAt, f.Proposal.StartAt); created != nil {
		return *created
	}
	return 0
}

func (f *Facts) before() (earlier []pages.KnownProposal) {
	for _, k := range f.Known {
		if k.DAOID == f.Detail.Identity.DAOID && createdBefore(k, f.Proposal) {
			earlier = append(earlier, k)
		}
	}
	return earlier
}

// outcomeAt returns the outcome that a proposal had at a time. An outcome that upstream does not date is as old as its vote.
func (f *Facts) outcomeAt(k pages.KnownProposal, at governance.Timestamp) governance.Outcome {
	isLater := k.OutcomeAt != nil && *k.OutcomeAt > at
	switch {
	case at >= f.AsOf, k.OutcomeAt != nil && !isLater, k.OutcomeAt == nil && k.Outcome == governance.Canceled: // a vote may be canceled long before its end
		return k.Outcome
	case k.EndAt != nil && *k.EndAt > at, k.Outcome == governance.Canceled:
		return governance.Unknown
	case isLater: // executed or expired
		return governance.Passed
	}
	return k.Outcome
}

func (f *Facts) endedIn(after, until governance.Timestamp) (ended []pages.KnownProposal) {
	for _, k := range f.Known {
		if k.DAOID == f.Detail.Identity.DAOID && k.EndAt != nil && *k.EndAt > after && *k.EndAt <= until {
			ended = append(ended, k)
		}
	}
	return ended
}

// EarlierAction is an action of another proposal.
type EarlierAction struct {
	// ProposalKey is the key of the proposal.
	ProposalKey governance.ProposalKey
	record.Action
}

// maxEarlier is how many earlier actions a dossier looks at.
const maxEarlier = 500

func (f *Facts) setBefore(concerned []string, actions map[record.RefHash][]record.Action) {
	var packed [][]byte
	for _, address := range concerned {
		if text, err := hex.DecodeString(strings.TrimPrefix(address, "0x")); err == nil && len(text) > 0 {
			packed = append(packed, text)
		}
	}
	executed := slices.DeleteFunc(f.before(), func(k pages.KnownProposal) bool { return f.outcomeAt(k, f.end()) != governance.Executed })
	slices.SortFunc(executed, func(a, b pages.KnownProposal) int {
		return cmp.Or(cmp.Compare(orFirst(b.EndAt), orFirst(a.EndAt)), bytes.Compare(a.Ref[:], b.Ref[:]))
	})
	for _, k := range executed {
		for _, a := range actions[k.Ref] {
			names := func(address []byte) bool { return bytes.Contains(a.Calldata, address) }
			switch {
			case !slices.Contains(concerned, a.Target) && !slices.ContainsFunc(packed, names):
			case len(f.Before) == maxEarlier:
				f.EarlierOmitted++
			default:
				f.Before = append(f.Before, EarlierAction{k.Key, a})
			}
		}
	}
}

// AddressHistory is what a DAO's votes and proposals before a proposal know of an address.
type AddressHistory struct {
	// Ballots is on how many votes it cast some, Proposals how many proposals are its own.
	Ballots, Proposals uint64
}

func (f *Facts) setHistories(involved []string, voted map[string][]record.RefHash) {
	ended, own := map[record.RefHash]bool{}, map[string]uint64{}
	for _, k := range f.endedIn(0, f.createdAt()-1) {
		ended[k.Ref] = true
	}
	for _, k := range f.before() {
		own[k.ProposerID]++
	}
	for _, address := range involved {
		history := AddressHistory{Proposals: own[address]}
		for _, ref := range voted[address] {
			if ended[ref] {
				history.Ballots++
			}
		}
		f.Histories[address] = history
	}
}
