package fill

import (
	"context"
	"slices"
	"unicode/utf8"

	"pnyx/governance"
	"pnyx/warehouse"
)

// resolution collects the candidates of one request, the best first.
type resolution struct {
	pageMaker
	scope      warehouse.NameScope
	candidates []governance.ProposalCandidate
}

// resolve looks for the proposals that a request may mean.
func (p pageMaker) resolve(ctx context.Context) ([]governance.ProposalCandidate, error) {
	wanted := p.request.Filter
	r := &resolution{
		pageMaker: p, scope: warehouse.NameScope{DAOID: wanted.DAOID, Provider: wanted.Provider},
		candidates: []governance.ProposalCandidate{},
	}
	var err error
	switch {
	case wanted.URL != "":
		err = r.named(ctx, governance.MatchURL, wanted.URL, governance.MatchedSourceURL, governance.MatchedDiscussionURL)
	case wanted.ExternalID != "":
		err = r.named(ctx, governance.MatchExternalID, wanted.ExternalID, governance.MatchedExternalID)
	case wanted.Title != "":
		err = r.titled(ctx, wanted.Title)
	}
	return r.candidates, err
}

// named adds the proposals of which one of the fields is a text.
func (r *resolution) named(ctx context.Context, match, text string, fields ...string) error {
	for _, field := range fields {
		name := warehouse.ProposalName{Field: field, Text: text}
		found, err := r.warehouse.ProposalsNamed(ctx, name, r.scope, r.request.Limit)
		if err != nil {
			return err
		}
		for _, p := range found {
			var matched []string
			names := p.Names()
			for _, other := range fields {
				if slices.Contains(names, warehouse.ProposalName{Field: other, Text: text}) {
					matched = append(matched, other)
				}
			}
			r.add(p, governance.Match{Type: match, MatchedFields: matched})
		}
	}
	return nil
}

// titled adds the proposals whose title is a text, then those whose title contains it.
func (r *resolution) titled(ctx context.Context, text string) error {
	if err := r.named(ctx, governance.MatchTitle, text, governance.MatchedTitle); err != nil {
		return err
	}
	missing := r.request.Limit - len(r.candidates)
	if missing == 0 || utf8.RuneCountInString(text) < leastContained {
		return nil
	}
	found, err := r.warehouse.ProposalsTitled(ctx, text, r.scope, missing)
	if err != nil {
		return err
	}
	for _, p := range found {
		r.add(p, governance.Match{Type: governance.MatchTitleContains, MatchedFields: []string{governance.MatchedTitle}})
	}
	return nil
}

// add adds a candidate, unless it is one already or there are enough.
func (r *resolution) add(p warehouse.ListedProposal, match governance.Match) {
	known := slices.ContainsFunc(r.candidates, func(c governance.ProposalCandidate) bool { return c.ProposalKey == p.Key })
	if known || len(r.candidates) == r.request.Limit {
		return
	}
	r.candidates = append(r.candidates, governance.ProposalCandidate{
		ProposalKey: p.Key, Identity: p.Identity, Title: governance.OptionalText(p.Title), Match: match,
	})
}
