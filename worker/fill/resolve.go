package fill

import (
	"context"
	"slices"
	"unicode/utf8"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
)

// resolve builds the candidates that a query may mean.
func (p *page) resolve(ctx context.Context, q query.Resolve) (any, error) {
	return p.fromList(ctx, q.Scope(), func() (any, error) {
		r := &resolution{warehouse: p.Warehouse, query: q, candidates: []governance.ProposalCandidate{}}
		err := r.search(ctx)
		return r.candidates, err
	})
}

type resolution struct {
	warehouse  *warehouse.Warehouse
	query      query.Resolve
	candidates []governance.ProposalCandidate
}

func (r *resolution) search(ctx context.Context) error {
	switch q := r.query; {
	case q.URL != "":
		return r.addPage(ctx, q.URL)
	case q.ExternalID != "":
		return r.addID(ctx, q.ExternalID)
	case q.Title != "":
		return r.addTitled(ctx, q.Title)
	}
	return nil
}

// addPage adds the proposals of a page, or of its discussion. Where there are none, the page may be of another
// provider, or of another site that shows the proposal under its id.
func (r *resolution) addPage(ctx context.Context, url string) error {
	err := r.addNamed(ctx, governance.MatchURL, url, governance.MatchedSourceURL, governance.MatchedDiscussionURL)
	if name := governance.LinkedProposal(url); err == nil && name != "" && len(r.candidates) == 0 {
		var found []pages.ListedProposal
		found, err = pages.ProposalsLinked(ctx, r.warehouse, name, r.query)
		for _, p := range found {
			r.add(p, governance.Match{Type: governance.MatchURL, MatchedFields: []governance.MatchedField{governance.MatchedSourceURL}})
		}
	}
	if id := governance.LinkedID(url); err == nil && id != "" && len(r.candidates) == 0 {
		return r.addID(ctx, id)
	}
	return err
}

// addID adds the proposals with an id. Where there are none, a hexadecimal one may be a Governor's number.
func (r *resolution) addID(ctx context.Context, id string) error {
	err := r.addNamed(ctx, governance.MatchExternalID, id, governance.MatchedExternalID)
	if number := governance.HexadecimalNumber(id); err == nil && number != "" && len(r.candidates) == 0 {
		return r.addNamed(ctx, governance.MatchExternalID, number, governance.MatchedExternalID)
	}
	return err
}

func (r *resolution) addNamed(ctx context.Context, match governance.MatchType, text string, fields ...governance.MatchedField) error {
	for _, field := range fields {
		found, err := pages.ProposalsNamed(ctx, r.warehouse, pages.ProposalName{Field: field, Text: text}, r.query)
		if err != nil {
			return err
		}
		for _, p := range found {
			var matched []governance.MatchedField
			names := p.Names()
			for _, other := range fields {
				if slices.Contains(names, pages.ProposalName{Field: other, Text: text}) {
					matched = append(matched, other)
				}
			}
			r.add(p, governance.Match{Type: match, MatchedFields: matched})
		}
	}
	return nil
}

// addTitled adds the proposals whose title is a text, then those whose title contains it.
func (r *resolution) addTitled(ctx context.Context, text string) error {
	if err := r.addNamed(ctx, governance.MatchTitle, text, governance.MatchedTitle); err != nil {
		return err
	}
	rest := r.query
	rest.Limit -= len(r.candidates)
	if rest.Limit == 0 || utf8.RuneCountInString(text) < query.MinPartialTitle {
		return nil
	}
	found, err := pages.ProposalsTitled(ctx, r.warehouse, rest)
	if err != nil {
		return err
	}
	for _, p := range found {
		r.add(p, governance.Match{Type: governance.MatchTitleContains, MatchedFields: []governance.MatchedField{governance.MatchedTitle}})
	}
	return nil
}

// add adds a candidate, unless it is one already or there are enough.
func (r *resolution) add(p pages.ListedProposal, match governance.Match) {
	known := slices.ContainsFunc(r.candidates, func(c governance.ProposalCandidate) bool { return c.ProposalKey == p.Key })
	if known || len(r.candidates) == r.query.Limit {
		return
	}
	r.candidates = append(r.candidates, governance.ProposalCandidate{
		ProposalKey: p.Key, Identity: p.Identity, Title: governance.OptionalText(p.Title), Match: match, Flagged: p.Flagged,
	})
}
