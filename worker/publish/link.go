package publish

import (
	"context"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

// writeLinks writes by which names proposals and topics refer to each other, where that has changed. These topics
// follow.
func (p *proposalPublication) writeLinks(ctx context.Context, refs []record.RefHash, links []counts.ProposalLink) error {
	published, err := counts.ProposalLinks(ctx, p.Warehouse, refs)
	if err != nil {
		return err
	}
	var changed []counts.ChangedLink
	for _, link := range links {
		if previous, known := published[link.Ref]; !known || !sameLink(previous, link) {
			changed = append(changed, counts.ChangedLink{ProposalLink: link, Previous: previous})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	p.topics.relinked = true
	return counts.WriteProposalLinks(ctx, p.Warehouse, changed, p.Revision)
}

func (e *evaluation) link() counts.ProposalLink {
	p := e.proposal
	if p.Withdrawn {
		return counts.ProposalLink{Ref: p.Ref}
	}
	slices.Sort(e.linkNames)
	return counts.ProposalLink{
		Ref: p.Ref, Key: e.key, Title: p.Title,
		Names: slices.Compact(e.linkNames),
		Topic: governance.LinkedTopic(p.DiscussionURL), Flagged: p.Flagged,
	}
}

// sameLink reports whether topics would show and find the proposal as before.
func sameLink(a, b counts.ProposalLink) bool {
	return a.Key == b.Key && a.Title == b.Title && a.Topic == b.Topic && a.Flagged == b.Flagged && slices.Equal(a.Names, b.Names)
}
