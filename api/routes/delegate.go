package routes

import (
	"pnyx/api/httpcache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func delegateRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "daos.delegates", Path: "/v2/daos/:daoId/delegates", Tier: governance.Plus, Addition: true,
			Title: "List a DAO's delegates",
			Summary: "The delegates of one DAO with the power that its tokens state, one row a token or registry; " +
				"null is not known, and ranked last.",
			Returns: []governance.Delegate{},
			Fresh:   httpcache.Expiring("Tokens state power in most blocks: pages expire, and none is purged."),
		}, listHandler(query.Delegates.PositionOf)),
		handle(Route{
			ID: "voters.delegations", Path: "/v2/voters/:voterIdentity/delegations", Tier: governance.Plus, Addition: true,
			Title:   "List a voter's delegations",
			Summary: "To whom one voter delegates now, and who delegates to the voter, newest first.",
			Returns: []governance.VoterDelegation{}, Fresh: httpcache.Voter(),
		}, listHandler(query.VoterDelegations.PositionOf)),
		handle(Route{
			ID: "voters.open", Path: "/v2/voters/:voterIdentity/open", Tier: governance.Plus, Addition: true,
			Title: "List a voter's open votes",
			Summary: "Open votes in which one voter has power, own or delegated, and has not voted, the nearest deadline first; " +
				"power is as of the start of the vote, null where it is not known.",
			Returns: []governance.OpenVote{}, Fresh: httpcache.Voter(),
		}, listHandler(query.OpenVotes.PositionOf)),
	}
}
