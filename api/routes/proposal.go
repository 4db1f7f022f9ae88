package routes

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

const pathExport = governance.PathVotes + "/export"

var errListUnpublished = errors.New("the list of proposals is not published yet")

// proposalRoutes are about proposals and their results. resolve comes first: the path of a detail would match it.
func proposalRoutes() []Route {
	return []Route{
		handleChecked(Route{
			ID: "proposals.list", Path: "/v2/proposals", Tier: governance.Standard,
			Title:   "List proposals",
			Summary: "Proposals of all DAOs or of one, filtered and in order.",
			Returns: []governance.ProposalListItem{}, Fresh: httpcache.Published(),
		}, (*Backend).listProposals, checkProposals),
		handleChecked(Route{
			ID: "proposals.resolve", Path: "/v2/proposals/resolve", Tier: governance.Standard,
			Title: "Resolve a proposal",
			Summary: "The proposals that an address, a title or an id may mean, the best match first. " +
				"Give exactly one of url, title and externalId.",
			Returns: governance.Resolution{}, Fresh: httpcache.Published(),
		}, (*Backend).resolveProposal, checkResolve),
		handle(Route{
			ID: "proposals.detail", Path: governance.PathProposal, Tier: governance.Plus,
			Title:   "Get a proposal",
			Summary: "One proposal with its full text.",
			Returns: governance.ProposalDetail{}, Fresh: httpcache.Published(),
		}, viewOf(
			func(p proposalParams) cache.Key { return cache.ProposalDetailKey(p.Key) },
			func(p proposalParams, detail *governance.ProposalDetail) {
				detail.Related = governance.RelatedTo(p.Key)
			},
		)),
		handle(Route{
			ID: "proposals.vote-summary", Path: governance.PathVoteSummary, Tier: governance.Plus,
			Title:   "Get a proposal's result",
			Summary: "The result of one proposal's vote: totals, quorum and choices.",
			Returns: governance.VoteSummary{}, Fresh: httpcache.Published(),
		}, viewOf[governance.VoteSummary](func(p proposalParams) cache.Key { return cache.VoteSummaryKey(p.Key) }, nil)),
	}
}

func checkProposals(q query.Proposals) []param.Problem {
	problems := param.CheckWindow(q.From, q.To, query.MaxProposalWindow)
	if q.Title != "" && utf8.RuneCountInString(governance.NormalizeTitle(q.Title)) < query.MinPartialTitle {
		problems = append(problems, param.Problem{
			Parameter: "q", Given: q.Title, Message: "is too short", Allowed: fmt.Sprintf("%d characters or more", query.MinPartialTitle),
			Fix: "give a longer part of the title",
		})
	}
	return problems
}

func (b *Backend) listProposals(ctx context.Context, r *Request, q query.Proposals) (Answer, error) {
	q = q.Canonical()
	found, err := listPage(ctx, b, r, &proposalList{q}, apierror.Unavailable(errListUnpublished))
	if err != nil {
		return Answer{}, err
	}
	rows, _ := found.Data.([]cache.ProposalRow)
	items := make([]governance.ProposalListItem, len(rows))
	for i, row := range rows {
		items[i] = row.Item
	}
	found.Data = items
	return found, nil
}

// proposalList is the list as workers make it: each row with its position, part of which no caller sees.
type proposalList struct{ query.Proposals }

// PositionOf returns the place of a row in the list.
func (proposalList) PositionOf(row cache.ProposalRow) query.ProposalPosition { return row.Position }

func checkResolve(q query.Resolve) []param.Problem {
	return param.CheckOneOf(
		param.Choice{Name: "url", Given: q.URL}, param.Choice{Name: "title", Given: q.Title}, param.Choice{Name: "externalId", Given: q.ExternalID},
	)
}

func (b *Backend) resolveProposal(ctx context.Context, _ *Request, q query.Resolve) (Answer, error) {
	var found governance.Resolution
	answer, err := readPageOf(ctx, b, cache.NewPageRequest(q.Canonical()), &found.Candidates, apierror.Unavailable(errListUnpublished))
	found.Candidates = found.Candidates[:min(q.Limit, len(found.Candidates))]
	answer.Data = found
	return answer, err
}

type proposalParams struct {
	Key governance.ProposalKey `param:"proposalKey" in:"path" doc:"The proposal's key." example:"p1_AAAAAAAAAAAAAAAAAAAAAA"`
}
