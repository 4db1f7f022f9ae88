package api

import (
	"context"
	"errors"
	"time"

	"pnyx/cache"
	"pnyx/governance"
)

// longestListWindow is how many days from and to may be apart, and how many they
// are when only one is given.
const longestListWindow = 365

// errNothingListed is a list that was not published yet.
var errNothingListed = errors.New("the list of proposals is not published")

func (a *API) listProposals(ctx context.Context, values Values) (answer, error) {
	filter := cache.Filter{
		DAOID: values.text("daoId"), Provider: values.text("provider"), ProposerID: values.text("proposerId"),
		Lifecycles: values.list("lifecycleStatus"), Outcomes: values.list("outcome"),
	}
	if filter.From, filter.To = window(values); filter.From != nil {
		filter.TimeField = values.text("timeField")
	}
	request := cache.PageRequest{Kind: cache.ProposalPage, Order: values.text("sort"), Filter: filter}
	found, err := listPage(ctx, a, values, request, func(r cache.ProposalRow) cache.Position { return r.Position }, unavailable(errNothingListed))
	if err != nil {
		return answer{}, err
	}
	rows, _ := found.data.([]cache.ProposalRow)
	items := make([]governance.ProposalListItem, len(rows))
	for i, row := range rows {
		items[i] = row.Item
	}
	found.data = items
	return found, nil
}

// window returns from and to, the one that is not given by the other; nil for
// neither.
func window(values Values) (from, to *governance.Timestamp) {
	from, to = values.instant("from"), values.instant("to")
	const longest = longestListWindow * 24 * time.Hour
	if from == nil && to != nil {
		begin := governance.TimestampOf(to.Time().Add(-longest))
		from = &begin
	}
	if to == nil && from != nil {
		end := governance.TimestampOf(from.Time().Add(longest))
		to = &end
	}
	return from, to
}

func (a *API) resolveProposal(ctx context.Context, values Values) (answer, error) {
	view, from, err := a.page(ctx, cache.PageRequest{
		Kind: cache.ResolvePage, Limit: cache.MaxCandidates,
		Filter: cache.Filter{
			DAOID: values.text("daoId"), Provider: values.text("provider"),
			URL: governance.CanonicalURL(values.text("url")), Title: governance.NormalizeTitle(values.text("title")),
			ExternalID: governance.NormalizeExternalID(values.text("externalId")),
		},
	}, unavailable(errNothingListed))
	if err != nil {
		return answer{}, err
	}
	found := governance.Resolution{Candidates: []governance.ProposalCandidate{}}
	if err := view.Decode(&found.Candidates); err != nil {
		return answer{}, unavailable(err)
	}
	found.Candidates = found.Candidates[:min(values.integer("limit"), len(found.Candidates))]
	return answer{data: found, view: view, source: from}, nil
}
