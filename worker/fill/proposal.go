package fill

import (
	"cmp"
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
)

// publicationPause is the time between two checks whether the publication that writes the list has ended.
const publicationPause = 20 * time.Millisecond

func (p *page) proposals(ctx context.Context, q query.Proposals) (any, error) {
	return p.fromList(ctx, q.Scope(), func() (any, error) {
		rows, err := pages.ListProposals(ctx, p.Warehouse, q)
		return proposalRows(rows, q.Order), err
	})
}

// fromList builds a page of the list as one publication left it: again, when rows are written meanwhile.
func (p *page) fromList(ctx context.Context, scope query.Scope, read func() (any, error)) (any, error) {
	for ctx.Err() == nil {
		written, err := p.revision(ctx, cache.ProposalRows())
		if err != nil {
			return nil, err
		}
		whole, err := p.revision(ctx, query.Scope{Kind: query.KindProposals})
		if err != nil || whole == 0 {
			return nil, cmp.Or(err, errAbsent) // nothing is published
		}
		if written > whole {
			backoff.Wait(ctx, publicationPause)
			continue
		}
		// A DAO that does not exist has no version, and no rows.
		if p.head.Revision, err = p.revision(ctx, scope); err != nil {
			return nil, err
		}
		p.head.Revision = cmp.Or(p.head.Revision, whole)
		payload, err := read()
		if err != nil {
			return nil, err
		}
		if again, err := p.revision(ctx, cache.ProposalRows()); err != nil || again != written {
			continue
		}
		p.head.DataAsOf = governance.TimestampOfRevision(p.head.Revision)
		return payload, nil
	}
	return nil, ctx.Err()
}

func (p *page) revision(ctx context.Context, scope query.Scope) (uint64, error) {
	version, there, err := p.version(ctx, scope)
	if !there {
		return 0, err
	}
	return version.Revision, nil
}

func proposalRows(proposals []pages.ListedProposal, order query.ProposalOrder) []cache.ProposalRow {
	rows := make([]cache.ProposalRow, len(proposals))
	for i, p := range proposals {
		rows[i] = cache.ProposalRow{
			Item: governance.ProposalListItem{
				ProposalKey: p.Key, Identity: p.Identity, Title: governance.OptionalText(p.Title), SourceURL: governance.OptionalText(p.SourceURL),
				LifecycleStatus: p.Lifecycle, Outcome: p.Outcome, StartAt: p.StartAt, EndAt: p.EndAt, CreatedAt: p.CreatedAt,
				ProposerID: governance.OptionalText(p.ProposerID), CoverageStatus: p.Coverage, Flagged: p.Flagged,
			},
			Position: p.PositionIn(order),
		}
	}
	return rows
}

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

func (r *resolution) add(p pages.ListedProposal, match governance.Match) {
	known := slices.ContainsFunc(r.candidates, func(c governance.ProposalCandidate) bool { return c.ProposalKey == p.Key })
	if known || len(r.candidates) == r.query.Limit {
		return
	}
	r.candidates = append(r.candidates, governance.ProposalCandidate{
		ProposalKey: p.Key, Identity: p.Identity, Title: governance.OptionalText(p.Title), Match: match, Flagged: p.Flagged,
	})
}
