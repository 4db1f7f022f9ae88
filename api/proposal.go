package api

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
)

func (a *API) proposalDetail(ctx context.Context, values Values) (answer, error) {
	key := governance.ProposalKey(values.text("proposalKey"))
	var detail governance.ProposalDetail
	view, err := a.view(ctx, cache.ProposalDetailKey(key), &detail, notFound("proposalKey", string(key)))
	detail.Related = governance.RelatedEndpoints{
		VoteSummary: pathTo(pathVoteSummary, key),
		Votes:       pathTo(pathVotes, key),
		Evidence:    pathTo(pathEvidence, key),
	}
	return answer{data: detail, view: view, source: sourceRedis}, err
}

func (a *API) voteSummary(ctx context.Context, values Values) (answer, error) {
	key := governance.ProposalKey(values.text("proposalKey"))
	var summary governance.VoteSummary
	view, err := a.view(ctx, cache.VoteSummaryKey(key), &summary, notFound("proposalKey", string(key)))
	return answer{data: summary, view: view, source: sourceRedis}, err
}

func (a *API) evidence(ctx context.Context, values Values) (answer, error) {
	key := governance.ProposalKey(values.text("proposalKey"))
	var evidence governance.Evidence
	view, err := a.view(ctx, cache.EvidenceKey(key), &evidence, notFound("proposalKey", string(key)))
	return answer{data: evidence, view: view, source: sourceRedis}, err
}
