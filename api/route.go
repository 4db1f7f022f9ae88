package api

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// Tier says who may read a route.
type Tier = governance.Tier

// The tiers.
const (
	Free     = governance.Free
	Standard = governance.Standard
	Plus     = governance.Plus
)

// Bucket names the limiter that counts the requests of a route.
type Bucket string

// The buckets.
const (
	// FreeBucket counts the requests of an IP address to free routes.
	FreeBucket = Bucket(ratelimit.Free)
	// StandardBucket and DetailBucket are two a caller, of the sizes of its plan.
	StandardBucket = Bucket(ratelimit.Standard)
	DetailBucket   = Bucket(ratelimit.Detail)
)

// Route is everything there is to know of an endpoint.
type Route struct {
	// ID names the route in prices, metrics and cursors.
	ID      string
	Path    string
	Tier    Tier
	Summary string
	Params  []Param
	// Addition marks what the contract does not have.
	Addition bool
	// TokenOnly answers are about the token that asks: one is needed, and they cost
	// nothing.
	TokenOnly bool
	// Returns is a value of the type that data has in an answer.
	Returns any
	// Fresh says how long an answer may be used again; personal ones never may.
	Fresh Freshness
	// tags name what an answer is made from.
	tags func(Values) []cache.Tag
	// check looks at parameters together, once each is right by itself.
	check func(Values) []Problem
	// answer makes the answer from the parsed parameters.
	answer func(*API, context.Context, Values) (answer, error)
	// account makes the answer about a token instead; set for TokenOnly routes.
	account func(*API, context.Context, *access.Caller) (answer, error)
}

// Paid says whether a request has to be paid for.
func (r *Route) Paid() bool { return r.Tier != Free }

// Bucket returns the limiter that counts the requests of the route.
func (r *Route) Bucket() Bucket {
	switch r.Tier {
	case Standard:
		return StandardBucket
	case Plus:
		return DetailBucket
	case Free:
	}
	return FreeBucket
}

// Paged says whether the route answers with one page of a list.
func (r *Route) Paged() bool {
	return slices.ContainsFunc(r.Params, func(p Param) bool { return p.Kind == Cursor })
}

// Codes lists the errors that the route may answer with.
func (r *Route) Codes() []Code {
	codes := []Code{CodeValidation}
	if r.TokenOnly {
		codes = append(codes, CodeUnauthorized)
	}
	if r.Paid() {
		codes = append(codes, CodeUnauthorized, CodePaymentRequired, CodeForbidden)
	}
	if slices.ContainsFunc(r.Params, func(p Param) bool { return p.MustExist || p.In == InPath }) {
		codes = append(codes, CodeNotFound)
	}
	if r.Paid() {
		codes = append(codes, CodePaymentInProgress)
	}
	codes = append(codes, CodeRateLimited)
	if r.Paid() {
		codes = append(codes, CodeQuotaExceeded)
	}
	codes = append(codes, CodeInternal, CodeUnavailable)
	if r.Paid() {
		codes = append(codes, CodeSettlementPending)
	}
	return codes
}

// Paths that answers refer to.
const (
	PathPricing     = "/v2/meta/pricing"
	pathProposal    = "/v2/proposals/:proposalKey"
	pathVoteSummary = pathProposal + "/votes/summary"
	pathVotes       = pathProposal + "/votes"
	pathEvidence    = pathProposal + "/evidence"
)

// Routes is the table of routes, the only place where one is described.
//
//nolint:funlen // a table has as many lines as it has rows
func Routes() []Route {
	return []Route{
		{
			ID: "meta.pricing", Path: PathPricing, Tier: Free,
			Summary: "What every route costs at the moment.",
			Returns: governance.Pricing{},
			Fresh:   pricingFreshness(), tags: pricingTags,
			answer: (*API).pricing,
		},
		{
			ID: "meta.data-status", Path: "/v2/meta/data-status", Tier: Free,
			Summary: "How fresh and how complete the data is, as a whole or of one DAO.",
			Params: []Param{
				{Name: "daoId", Kind: Text, Description: "The DAO to ask about; all of them when left out.", Example: "uniswap", MustExist: true},
			},
			Returns: governance.DataStatus{},
			Fresh:   publishedFreshness(), tags: statusTags,
			answer: (*API).dataStatus,
		},
		{
			ID: "meta.usage", Path: "/v2/meta/usage", Tier: Free, Addition: true, TokenOnly: true,
			Summary: "What the token that asks may use, and what it has used this month.",
			Returns: usage{},
			account: (*API).usage,
		},
		{
			ID: "daos.list", Path: "/v2/daos", Tier: Free,
			Summary: "The DAOs, in order of their ids.",
			Params: []Param{
				{Name: "hasVoteData", Kind: Boolean, Description: "Only DAOs with ballots (true) or without (false).", Example: "true"},
				{Name: "hasForumData", Kind: Boolean, Description: "Only DAOs with forum topics (true) or without (false).", Example: "true"},
				{Name: "coverageStatus", Kind: Enum, Enum: namesOf(governance.Coverages()), Description: "Only DAOs with this coverage.", Example: "complete"},
				cursorParam(),
				limitParam(50, 100),
			},
			Returns: []governance.DAOListItem{},
			Fresh:   publishedFreshness(), tags: directoryTags,
			answer: (*API).listDAOs,
		},
		{
			ID: "daos.detail", Path: "/v2/daos/:daoId", Tier: Free,
			Summary: "One DAO: its proposals by state and outcome, and participation.",
			Params:  []Param{daoIDParam()},
			Returns: governance.DAODetail{},
			Fresh:   publishedFreshness(), tags: daoTags,
			answer: (*API).daoDetail,
		},
		{
			ID: "daos.timeline", Path: "/v2/daos/:daoId/timeline", Tier: Plus,
			Summary: "A metric of one DAO by month.",
			Params: []Param{
				daoIDParam(),
				{Name: "metric", Kind: Enum, Required: true, Enum: governance.TimelineMetrics(), Description: "What to count.", Example: governance.VotesCast},
				{Name: "fromMonth", Kind: Month, Description: "First month; the first with a value when left out.", Example: "2026-01"},
				{Name: "toMonth", Kind: Month, Description: "Last month, included; the last with a value when left out.", Example: "2026-06"},
			},
			check:   checkMonths,
			Returns: governance.Timeline{},
			Fresh:   publishedFreshness(), tags: daoTags,
			answer: (*API).timeline,
		},
		{
			ID: "daos.voters", Path: "/v2/daos/:daoId/voters", Tier: Plus,
			Summary: "The voters of one DAO, ranked by their voting power over all its proposals.",
			Params:  []Param{daoIDParam(), cursorParam(), limitParam(25, 100)},
			Returns: []governance.DAOVoter{},
			Fresh:   publishedFreshness(), tags: daoTags,
			answer: (*API).listDAOVoters,
		},
		{
			ID: "proposals.list", Path: "/v2/proposals", Tier: Standard,
			Summary: "Proposals of all DAOs or of one, filtered and in order.",
			Params: []Param{
				{Name: "daoId", Kind: Text, Description: "Only proposals of this DAO.", Example: "uniswap"},
				{Name: "provider", Kind: Text, Description: "Only proposals from this upstream system.", Example: string(governance.Snapshot)},
				{Name: "proposerId", Kind: Voter, Description: "Only proposals by this proposer; the case of a 0x… address does not matter.", Example: "0x0000000000000000000000000000000000000001"},
				{Name: "lifecycleStatus", Kind: EnumList, Enum: namesOf(governance.Lifecycles()), Description: "Only proposals in one of these states.", Example: "active,pending"},
				{Name: "outcome", Kind: EnumList, Enum: namesOf(governance.AllOutcomes()), Description: "Only proposals with one of these outcomes.", Example: "passed,executed"},
				{Name: "timeField", Kind: Enum, Enum: governance.ProposalTimeFields(), Default: governance.FieldUpdatedAt, Description: "The time that from and to are about; proposals without it are left out by them.", Example: governance.FieldEndAt},
				{Name: "from", Kind: Instant, Description: "Only proposals at or after this time; 365 days before to when only that is given.", Example: "2026-01-01"},
				{Name: "to", Kind: Instant, Description: "Only proposals before this time; 365 days after from when only that is given.", Example: "2026-07-01"},
				{Name: "sort", Kind: Enum, Enum: governance.ProposalSorts(), Default: governance.SortUpdated, Description: "The newest first, by update or by creation; or active ones that end soonest first, then pending ones, then closed ones.", Example: governance.SortEnding},
				cursorParam(),
				limitParam(25, 100),
			},
			check:   checkWindow(longestListWindow),
			Returns: []governance.ProposalListItem{},
			Fresh:   publishedFreshness(), tags: listTags(cache.ProposalPage),
			answer: (*API).listProposals,
		},
		{
			// Before the detail of a proposal, whose path would match this one.
			ID: "proposals.resolve", Path: "/v2/proposals/resolve", Tier: Standard,
			Summary: "The proposals that an address, a title or an id may mean, the best match first. Give exactly one of url, title and externalId.",
			Params: []Param{
				{Name: "url", Kind: Text, Description: "The address of the proposal, in any of its forms, or of its discussion.", Example: "https://snapshot.org/#/uniswap/proposal/0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"},
				{Name: "title", Kind: Text, Description: "The title, or three characters of it or more; case does not matter.", Example: "deploy uniswap v4"},
				{Name: "externalId", Kind: Text, Description: "The id in the upstream system; the case of a 0x… id does not matter.", Example: "0x538c49304ef485ba4ea09ebce3dfd0548e6e230b5d338b2ba428928e3848f912"},
				{Name: "daoId", Kind: Text, Description: "Only proposals of this DAO.", Example: "uniswap"},
				{Name: "provider", Kind: Text, Description: "Only proposals from this upstream system.", Example: string(governance.Snapshot)},
				{Name: "limit", Kind: Integer, Default: "5", Min: 1, Max: cache.MaxCandidates, Description: "Candidates at the most."},
			},
			check:   checkOneOf("url", "title", "externalId"),
			Returns: governance.Resolution{},
			Fresh:   publishedFreshness(), tags: listTags(cache.ProposalPage),
			answer: (*API).resolveProposal,
		},
		{
			ID: "proposals.detail", Path: pathProposal, Tier: Plus,
			Summary: "One proposal with its full text.",
			Params:  []Param{proposalKeyParam()},
			Returns: governance.ProposalDetail{},
			Fresh:   publishedFreshness(), tags: proposalTags,
			answer: (*API).proposalDetail,
		},
		{
			ID: "proposals.vote-summary", Path: pathVoteSummary, Tier: Plus,
			Summary: "The result of one proposal's vote: totals, quorum and choices.",
			Params:  []Param{proposalKeyParam()},
			Returns: governance.VoteSummary{},
			Fresh:   publishedFreshness(), tags: proposalTags,
			answer: (*API).voteSummary,
		},
		{
			ID: "proposals.votes", Path: pathVotes, Tier: Plus,
			Summary: "The ballots of one proposal: one a voter, the latest.",
			Params: []Param{
				proposalKeyParam(),
				{Name: "order", Kind: Enum, Enum: []string{cache.ByPower, cache.ByTime}, Default: cache.ByPower, Description: "Highest power first, or newest first.", Example: cache.ByTime},
				cursorParam(),
				limitParam(100, 500),
			},
			Returns: []governance.Ballot{},
			Fresh:   publishedFreshness(), tags: proposalTags,
			answer: (*API).listBallots,
		},
		{
			ID: "proposals.evidence", Path: pathEvidence, Tier: Plus,
			Summary: "What one proposal's data rests on: where each field came from, an analysis where there is one, quality flags, and conflicts between sources.",
			Params:  []Param{proposalKeyParam()},
			Returns: governance.Evidence{},
			Fresh:   publishedFreshness(), tags: proposalTags,
			answer: (*API).evidence,
		},
		{
			ID: "forum-topics.list", Path: "/v2/forum-topics", Tier: Standard,
			Summary: "The forum topics of all DAOs, or of one.",
			Params: []Param{
				{Name: "daoId", Kind: Text, Description: "Only topics of this DAO.", Example: "uniswap"},
				{Name: "provider", Kind: Text, Description: "Only topics from this upstream system.", Example: string(governance.Discourse)},
				{Name: "governanceRelated", Kind: Boolean, Description: "Only topics that are about governance (true) or are not (false).", Example: "true"},
				{Name: "updatedFrom", Kind: Instant, Description: "Only topics updated at or after this time.", Example: "2026-01-01"},
				{Name: "updatedTo", Kind: Instant, Description: "Only topics updated before this time.", Example: "2026-07-01"},
				{Name: "minReplies", Kind: Integer, Min: 0, Max: math.MaxInt32, Description: "Only topics with at least so many replies.", Example: "10"},
				{
					Name: "sort", Kind: Enum, Enum: governance.TopicSorts(), Default: governance.SortUpdated,
					Description: "Last updated first, newest first, or most replies first.", Example: governance.SortReplies,
				},
				cursorParam(),
				limitParam(25, 100),
			},
			check:   checkOrder("updatedFrom", "updatedTo"),
			Returns: []governance.ForumTopic{},
			Fresh:   publishedFreshness(), tags: listTags(cache.TopicPage),
			answer: (*API).listTopics,
		},
		{
			ID: "forum-topics.detail", Path: "/v2/forum-topics/:topicKey", Tier: Plus,
			Summary: "One forum topic: its first post as text, and the proposals that it is linked to.",
			Params:  []Param{topicKeyParam()},
			Returns: governance.ForumTopicDetail{},
			Fresh:   publishedFreshness(), tags: topicTags,
			answer: (*API).topicDetail,
		},
		{
			ID: "voters.profile", Path: "/v2/voters/:voterIdentity", Tier: Plus,
			Summary: "One voter over all DAOs.",
			Params:  []Param{voterParam()},
			Returns: governance.VoterProfile{},
			Fresh:   voterFreshness(), tags: voterTags,
			answer: (*API).voterProfile,
		},
		{
			ID: "voters.votes", Path: "/v2/voters/:voterIdentity/votes", Tier: Plus,
			Summary: "What one voter voted, newest first.",
			Params: []Param{
				voterParam(),
				{Name: "daoId", Kind: Text, Description: "Only votes in this DAO.", Example: "uniswap"},
				{Name: "from", Kind: Instant, Description: "Only votes at or after this time.", Example: "2026-01-01"},
				{Name: "to", Kind: Instant, Description: "Only votes before this time.", Example: "2026-07-01"},
				cursorParam(),
				limitParam(50, 100),
			},
			check:   checkRange,
			Returns: []governance.VoterVote{},
			Fresh:   voterFreshness(), tags: voterTags,
			answer: (*API).listVoterVotes,
		},
		eventsRoute(),
		signalsRoute(),
	}
}

func proposalKeyParam() Param {
	return Param{
		Name: "proposalKey", In: InPath, Kind: ProposalKey,
		Description: "The proposal's key.", Example: "p1_AAAAAAAAAAAAAAAAAAAAAA",
	}
}

func topicKeyParam() Param {
	return Param{
		Name: "topicKey", In: InPath, Kind: TopicKey,
		Description: "The topic's key.", Example: "t1_AAAAAAAAAAAAAAAAAAAAAA",
	}
}

func daoIDParam() Param {
	return Param{Name: "daoId", In: InPath, Kind: Text, Description: "The DAO.", Example: "uniswap"}
}

func voterParam() Param {
	return Param{
		Name: "voterIdentity", In: InPath, Kind: Voter,
		Description: "The voter; the case of a 0x… address does not matter.", Example: "0x0000000000000000000000000000000000000001",
	}
}

func cursorParam() Param {
	return Param{Name: "cursor", Kind: Cursor, Description: "Where to go on: meta.page.nextCursor of the page before."}
}

func limitParam(byDefault, most int) Param {
	return Param{Name: "limit", Kind: Integer, Default: strconv.Itoa(byDefault), Min: 1, Max: most, Description: "Rows a page."}
}

// namesOf returns the values of a closed set as texts.
func namesOf[Value ~string](values []Value) []string {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	return names
}

// pathTo fills a key into a route's path.
func pathTo(path string, key governance.ProposalKey) string {
	return strings.Replace(path, ":proposalKey", string(key), 1)
}
