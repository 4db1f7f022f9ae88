package follow

import (
	"errors"
	"fmt"
	"strings"

	"pnyx/governance"
	"pnyx/warehouse/record"
	wsource "pnyx/warehouse/source"
)

// ErrForeign reports a record that its upstream may not state: a source is believed about itself alone.
var ErrForeign = errors.New("the source may not state it")

// Asked is what an upstream was asked for, to which an item of its answer must belong.
type Asked struct {
	Format wsource.Format
	Source record.SourceRef
	ItemID string
	// Proposal is the external id of a ballot's proposal; empty for any proposal of the source.
	Proposal string
}

func (a Asked) check(r record.Record) error {
	switch r := r.(type) {
	case *record.Source:
		return mustBe("source", r.ID, a.Source.ID)
	case *record.Category:
		return mustBe("forum", r.Host, a.Source.ID)
	case *record.Topic:
		return errors.Join(mustBe("forum", r.Host, a.Source.ID), mustBe("topic", r.ExternalID, a.ItemID))
	case *record.Proposal:
		return errors.Join(mustBe("source", r.SourceID, a.Source.ID), mustBe("proposal", r.ExternalID, a.ItemID))
	case *record.Ballot:
		err := mustBe("vote", r.VoteID, a.ItemID)
		if a.Proposal != "" {
			err = errors.Join(err, mustBe("proposal", r.Proposal.ExternalID, a.Proposal))
		}
		return err
	}
	return fmt.Errorf("%w: no upstream states %s", ErrForeign, r.Kind())
}

func mustBe(what, stated, asked string) error {
	if stated == asked {
		return nil
	}
	return fmt.Errorf("%w: it is of %s %q where %q was asked for", ErrForeign, what, record.Clip(stated, maxShown), record.Clip(asked, maxShown))
}

// admit returns the records that the upstream may state, and keeps the others as rejected: a record must be of a source
// that is followed there, a held record never changes its source, and a ballot must be on a proposal of such a source
// that is known. held are the sources of the held proposals. All that is committed passes here.
func (j *Journal) admit(records []record.Record, held map[record.RefHash]record.SourceRef) []record.Record {
	proposals := map[record.RefHash]record.SourceRef{}
	for _, r := range records {
		if p, is := r.(*record.Proposal); is && j.refuseProposal(p, held) == nil {
			proposals[p.Hash()] = record.SourceRef{Provider: p.Provider, ID: p.SourceID}
		}
	}
	admitted := make([]record.Record, 0, len(records))
	for _, r := range records {
		var err error
		switch r := r.(type) {
		case *record.Proposal:
			err = j.refuseProposal(r, held)
		case *record.Ballot:
			err = j.refuseBallot(r, proposals, held)
		case *record.Delegation:
			err = j.refuseScope(r.Scope)
		case *record.DelegatePower:
			err = j.refuseScope(r.Scope)
		case *record.TokenSupply:
			err = j.refuseScope(r.Scope)
		case *record.Observation:
			err = j.refuseSource(governorOf(r.Proposal))
		case *record.Name:
			err = j.refuseName(r)
		default:
			source, _ := subjectOf(r)
			err = j.refuseSource(source)
		}
		left := []string{}
		if err == nil {
			left, err = record.Bound(r)
		}
		if err != nil || len(left) > 0 {
			j.noteRefused(r, left, err)
		}
		if err == nil {
			admitted = append(admitted, r)
		}
	}
	return admitted
}

func (j *Journal) noteRefused(r record.Record, left []string, err error) {
	source, id := subjectOf(r)
	if j.refuseSource(source) != nil {
		source = record.SourceRef{} // of all sources of the upstream
	}
	if err == nil {
		err = errors.New(strings.Join(left, "; "))
	}
	j.Reject(source, id, err)
}

// subjectOf returns the source that a record states, and the id of the item there. Ballots state no source but in the
// id of their proposal.
func subjectOf(r record.Record) (source record.SourceRef, itemID string) {
	switch r := r.(type) {
	case *record.Source:
		return r.SourceRef, r.ID
	case *record.Category:
		return record.SourceRef{Provider: governance.Discourse, ID: r.Host}, "category " + r.ID
	case *record.Topic:
		return record.SourceRef{Provider: governance.Discourse, ID: r.Host}, r.ExternalID
	case *record.Proposal:
		return record.SourceRef{Provider: r.Provider, ID: r.SourceID}, r.ExternalID
	case *record.Ballot:
		return governorOf(r.Proposal), r.VoteID
	case *record.Name:
		return record.SourceRef{}, "name of " + r.Voter
	}
	return record.SourceRef{}, string(r.Kind())
}

// governorOf returns the source in the id of a Governor's proposal; it is empty for others.
func governorOf(ref record.ProposalRef) record.SourceRef {
	at := strings.LastIndexByte(ref.ExternalID, '/')
	if ref.Provider != governance.Governor || at < 0 {
		return record.SourceRef{}
	}
	return record.SourceRef{Provider: ref.Provider, ID: ref.ExternalID[:at]}
}

func (j *Journal) refuseSource(source record.SourceRef) error {
	if source.ID != "" && j.sources[source] {
		return nil
	}
	return fmt.Errorf("%w: %s %q is not followed at %s", ErrForeign, source.Provider, record.Clip(source.ID, maxShown), j.upstream)
}

// refuseScope refuses a token or a registry of another chain than the upstream.
func (j *Journal) refuseScope(scope string) error {
	if strings.HasPrefix(scope, j.upstream+":") {
		return nil
	}
	return fmt.Errorf("%w: %q is not of %s", ErrForeign, record.Clip(scope, maxShown), j.upstream)
}

// refuseName refuses a name of another source than the upstream.
func (j *Journal) refuseName(n *record.Name) error {
	if n.Source == governance.NameOfForum {
		return j.refuseSource(record.SourceRef{Provider: governance.Discourse, ID: n.Origin})
	}
	system, _, _ := strings.Cut(j.upstream, ":")
	source := map[string]governance.NameSource{
		"eip155": governance.NameOfENS, "tally": governance.NameOfTally, "snapshot": governance.NameOfSnapshot,
	}[system]
	if source != "" && n.Source == source {
		return nil
	}
	return fmt.Errorf("%w: a name of %s is not of %s", ErrForeign, n.Source, j.upstream)
}

func (j *Journal) refuseProposal(p *record.Proposal, held map[record.RefHash]record.SourceRef) error {
	source := record.SourceRef{Provider: p.Provider, ID: p.SourceID}
	before, known := held[p.Hash()]
	switch err := j.refuseSource(source); {
	case err != nil:
		return err
	case p.Provider == governance.Governor && governorOf(p.ProposalRef) != source:
		return fmt.Errorf("%w: proposal %q is of another Governor", ErrForeign, record.Clip(p.ExternalID, maxShown))
	case known && before != source:
		return fmt.Errorf("%w: proposal %q is held as one of %q", ErrForeign, record.Clip(p.ExternalID, maxShown), before.ID)
	}
	return nil
}

func (j *Journal) refuseBallot(b *record.Ballot, proposals, held map[record.RefHash]record.SourceRef) error {
	ref := b.Proposal.Hash()
	source, known := governorOf(b.Proposal), b.Proposal.Provider == governance.Governor
	if !known {
		source, known = held[ref]
	}
	if !known {
		source, known = proposals[ref]
	}
	if !known {
		return fmt.Errorf("%w: it is on proposal %q, of which no source is known", ErrForeign, record.Clip(b.Proposal.ExternalID, maxShown))
	}
	return j.refuseSource(source)
}

// proposalsOf returns the proposals that records are or vote on, without Governors', whose ids name their source.
func proposalsOf(records []record.Record) []record.RefHash {
	refs := map[record.ProposalRef]bool{}
	for _, r := range records {
		switch r := r.(type) {
		case *record.Proposal:
			refs[r.ProposalRef] = true
		case *record.Ballot:
			refs[r.Proposal] = true
		}
	}
	hashes := make([]record.RefHash, 0, len(refs))
	for ref := range refs {
		if ref.Provider != governance.Governor {
			hashes = append(hashes, ref.Hash())
		}
	}
	return hashes
}
