package api

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
)

func (a *API) listBallots(ctx context.Context, values Values) (answer, error) {
	key := values.text("proposalKey")
	order := values.text("order")
	request := cache.PageRequest{Kind: cache.BallotPage, Subject: key, Order: order}
	return listPage(ctx, a, values, request, func(b governance.Ballot) cache.Position {
		if order == cache.ByTime {
			return cache.Position{At: b.VotedAt, Key: b.VoterIdentity}
		}
		return cache.Position{Power: b.VotingPower, Key: b.VoterIdentity}
	}, notFound("proposalKey", key))
}
