package publish

import (
	"context"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// writeLinks writes by which names proposals and topics refer to each other, where that
// has changed. The topics that are concerned follow in the same publication.
func (p *proposalPublication) writeLinks(
	ctx context.Context, refs []record.RefHash, links []warehouse.ProposalLink,
) error {
	published, err := p.Warehouse.ProposalLinks(ctx, refs)
	if err != nil {
		return err
	}
	var changed []warehouse.ChangedLink
	for _, link := range links {
		if previous, known := published[link.Ref]; !known || !sameLink(previous, link) {
			changed = append(changed, warehouse.ChangedLink{ProposalLink: link, Previous: previous})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	p.relinked = true
	return p.Warehouse.WriteProposalLinks(ctx, changed, p.revision)
}

func (e *evaluation) link() warehouse.ProposalLink {
	p := e.proposal
	if p.Withdrawn {
		return warehouse.ProposalLink{Ref: p.Ref}
	}
	slices.Sort(e.linkNames)
	return warehouse.ProposalLink{
		Ref: p.Ref, Key: e.key, Title: p.Title,
		Names: slices.Compact(e.linkNames),
		Topic: governance.LinkedTopic(p.DiscussionURL), Flagged: p.Flagged,
	}
}

// sameLink reports whether topics would show and find the proposal as before.
func sameLink(a, b warehouse.ProposalLink) bool {
	return a.Key == b.Key && a.Title == b.Title && a.Topic == b.Topic && a.Flagged == b.Flagged && slices.Equal(a.Names, b.Names)
}
