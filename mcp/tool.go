package mcp

import (
	"slices"

	"pnyx/api"
	"pnyx/api/param"
)

// tool is one tool. Its arguments are the parameters of the routes that it reads.
type tool struct {
	name, title string
	// description says what the tool is for, and when another is better.
	description string
	// routes are the ids of the routes that the tool may read, the first one always.
	routes []string
	// without names parameters of the routes that the tool does not have.
	without []string
	// rows and maxRows are the default and the maximum of limit; zero for the route's.
	rows, maxRows int
	// concise is what a row keeps unless the call asks for all of it; nil for no choice.
	concise shape
	// extra are arguments that no route has.
	extra []param.Param
	// window says that from and to may be left out: for the last seven days.
	window bool
	// run answers a call with the JSON of the members data and meta.
	run func(*call) ([]byte, error)
	// params are all arguments, and byRoute the routes by id; allTools fills them in.
	params  []param.Param
	byRoute map[string]api.Route
}

// Names of arguments that no route has.
const (
	argDetail     = "detail"
	argInclude    = "include"
	argName       = "name"
	argTextOffset = "textOffset"
	argTextLimit  = "textLimit"
	argTimeline   = "timeline"
	argDiscovered = "discovered"
)

// The values of detail.
const (
	concise = "concise"
	full    = "full"
)

// Parts of a proposal that a call may include.
const (
	partText     = "text"
	partVotes    = "votes"
	partEvidence = "evidence"
)

// Ids of routes.
const (
	routeDAOs         = "daos.list"
	routeDAO          = "daos.detail"
	routeTimeline     = "daos.timeline"
	routeProposals    = "proposals.list"
	routeResolve      = "proposals.resolve"
	routeProposal     = "proposals.detail"
	routeSummary      = "proposals.vote-summary"
	routeEvidence     = "proposals.evidence"
	routeBallots      = "proposals.votes"
	routeVoters       = "daos.voters"
	routeDelegates    = "daos.delegates"
	routeDelegations  = "voters.delegations"
	routeOpenVotes    = "voters.open"
	routeProfile      = "voters.profile"
	routeVoterVotes   = "voters.votes"
	routeTopics       = "forum-topics.list"
	routeTopic        = "forum-topics.detail"
	routeSignals      = "signals.list"
	routeEvents       = "events.list"
	routeChanges      = "changes.list"
	routeStatus       = "meta.data-status"
	routePricing      = "meta.pricing"
	routeUsage        = "meta.usage"
	defaultTextLength = "12000"
	maxTextLength     = 20_000
)

// allTools returns the tools in the order in which they are listed.
func allTools() []*tool {
	tools := slices.Concat(daoTools(), proposalTools(), voterTools(), otherTools())
	byRoute := map[string]api.Route{}
	for _, route := range api.Routes() {
		byRoute[route.ID] = route
	}
	for _, t := range tools {
		t.byRoute = byRoute
		t.params = t.allParams()
	}
	return tools
}

func daoTools() []*tool {
	return []*tool{
		{
			name: "find_daos", title: "Find DAOs", routes: []string{routeDAOs}, run: findDAOs,
			description: "Lists the DAOs there is data of, in order of their ids. Begin here when only the name of a DAO is known: " +
				"other tools take its daoId.",
			rows: 50, maxRows: 100,
			extra: []param.Param{{
				Name: argName, Kind: param.Text, Description: "Only DAOs with this text in their name or id, in any case.", Example: "uniswap",
			}},
		},
		{
			name: "get_dao", title: "Get a DAO", routes: []string{routeDAO, routeTimeline}, run: getDAO, without: []string{"metric"},
			description: "One DAO: its proposals by state and outcome, and participation. With timeline also one metric of it by month, " +
				"which is of the tier plus. For its proposals use find_proposals, for its voters list_voters.",
			extra: []param.Param{timelineParam()},
		},
	}
}

// timelineParam is the metric of the timeline route as an argument, which may be left out.
func timelineParam() param.Param {
	for _, route := range api.Routes() {
		for _, one := range route.Params {
			if route.ID == routeTimeline && one.Name == "metric" {
				one.Name, one.Required = argTimeline, false
				one.Description = "Also this metric by month; fromMonth and toMonth choose the months."
				return one
			}
		}
	}
	return param.Param{}
}

// textParams are the arguments that choose a part of a long text.
func textParams() []param.Param {
	return []param.Param{
		{
			Name: argTextOffset, Kind: param.Integer, Default: "0", Max: 1 << 30,
			Description: "Where the text begins, in characters: text.nextOffset of the call before.",
		},
		{
			Name: argTextLimit, Kind: param.Integer, Default: defaultTextLength, Min: 1, Max: maxTextLength,
			Description: "Characters of the text at the most.",
		},
	}
}

func proposalTools() []*tool {
	return []*tool{
		{
			name: "find_proposals", title: "Find proposals", routes: []string{routeProposals}, run: list,
			description: "Lists proposals of all DAOs or of one, filtered by state, outcome, proposer and time. " +
				"For a proposal whose address or title is known use resolve_proposal.",
			rows: 20, maxRows: 100,
			concise: shape{
				"proposalKey": nil, "identity": {"daoId": nil, "provider": nil}, "title": nil,
				"lifecycleStatus": nil, "outcome": nil, "startAt": nil, "endAt": nil,
			},
		},
		{
			name: "resolve_proposal", title: "Resolve a proposal", routes: []string{routeResolve}, run: list,
			description: "Finds the proposals that an address, a title or an id may mean, the best match first. " +
				"Give exactly one of url, title and externalId. The proposalKey of a match opens get_proposal and list_ballots.",
			rows: 5, maxRows: 20,
		},
		{
			name: "get_proposal", title: "Get a proposal", run: getProposal,
			routes: []string{routeProposal, routeSummary, routeEvidence},
			description: "One proposal with its text and the result of its vote. Each of votes and evidence counts and costs as a request of its own. " +
				"evidence says where each field came from. The totals of a vote are what upstream states or the sums of the ballots held, as basis says; " +
				"result is null, and reached too, where ballots that are missing may change it. A long text comes in parts: go on at text.nextOffset.",
			extra: append([]param.Param{{
				Name: argInclude, Kind: param.EnumList, Enum: []string{partText, partVotes, partEvidence}, Default: partText + "," + partVotes,
				Description: "Parts to include.",
			}}, textParams()...),
		},
		{
			name: "list_ballots", title: "List ballots", routes: []string{routeBallots}, run: list,
			description: "The ballots of one proposal, one a voter, the latest: who voted what with which power. " +
				"For the result alone get_proposal is enough, for the votes of one voter use get_voter.",
			rows: 25, maxRows: 100,
			concise: shape{"voterIdentity": nil, "voterName": nil, "choice": nil, "votingPower": nil, "votedAt": nil, "reason": nil},
		},
	}
}

func voterTools() []*tool {
	return []*tool{
		{
			name: "list_voters", title: "List voters", routes: []string{routeVoters}, run: list,
			description: "The voters of one DAO, ranked by their voting power over all its proposals. For one voter use get_voter.",
			rows:        25, maxRows: 100,
			concise: shape{"rank": nil, "voterIdentity": nil, "voterName": nil, "totalVotingPower": nil, "voteCount": nil, "proposalCount": nil},
		},
		{
			name: "get_voter", title: "Get a voter", routes: []string{routeVoterVotes, routeProfile}, run: getVoter,
			description: "One voter over all DAOs: profile and votes, newest first. The profile comes with the first page only; " +
				"it and each page of votes count and cost as a request of their own.",
			rows: 20, maxRows: 100,
		},
		{
			name: "list_delegates", title: "List delegates", routes: []string{routeDelegates}, run: list,
			description: "The delegates of one DAO by power, delegators or activity: for whom they speak, which share of the supply they hold, " +
				"and how often they vote. A row a token; power is null where it is not known.",
			rows: 25, maxRows: 100,
			concise: shape{
				"rank": nil, "voterIdentity": nil, "voterName": nil, "votingPower": nil, "delegators": nil, "shareOfSupply": nil, "ballotsOfLast50": nil, "lastVoteAt": nil,
			},
		},
		{
			name: "list_delegations", title: "List delegations", routes: []string{routeDelegations}, run: list,
			description: "To whom one voter delegates now, and who delegates to the voter. For the sums of a delegate use get_voter.",
			rows:        25, maxRows: 100,
		},
		{
			name: "list_open_votes", title: "List open votes", routes: []string{routeOpenVotes}, run: list,
			description: "Open votes in which one voter, or the voter as a delegate of others, has power and has not voted, the nearest deadline first. " +
				"Ask it every morning for what is to be voted.",
			rows: 25, maxRows: 100,
		},
	}
}

func otherTools() []*tool {
	return []*tool{
		{
			name: "find_topics", title: "Find forum topics", routes: []string{routeTopics}, run: list, without: []string{"provider"},
			description: "Lists forum topics of all DAOs or of one. For the text of a topic use get_topic.",
			rows:        20, maxRows: 50,
			concise: shape{
				"topicKey": nil, "identity": {"daoId": nil}, "title": nil, "summary": nil,
				"relevanceScore": nil, "replies": nil, "updatedAt": nil,
			},
		},
		{
			name: "get_topic", title: "Get a forum topic", routes: []string{routeTopic}, run: getTopic,
			description: "One forum topic: its first post as text, and the proposals that it is linked to. " +
				"A long text comes in parts: go on at text.nextOffset.",
			extra: textParams(),
		},
		{
			name: "list_signals", title: "List signals", routes: []string{routeSignals}, run: list, without: []string{"surface"}, window: true,
			description: "What deserves attention: deadlines, missing quorum, close votes and more, detected in a window of at most 90 days. " +
				"For everything that happened use list_events.",
			rows: 20, maxRows: 50,
			concise: shape{
				"signalType": nil, "priority": nil, "actionability": nil, "daoId": nil, "title": nil, "summary": nil, "deadlineAtMs": nil,
				"proposalKey": nil,
			},
		},
		{
			name: "list_events", title: "List events", routes: []string{routeEvents}, run: listEvents, window: true,
			description: "What happened in a window of at most 90 days, newest first: proposals created, votes begun and ended, topics opened and more. " +
				"For what needs attention use list_signals.",
			extra: []param.Param{{
				Name: argDiscovered, Kind: param.Boolean, Default: "false",
				Description: "Also events whose own time is unknown: they are at the time when they were first seen here.",
			}},
			rows: 30, maxRows: 100,
			concise: shape{
				"eventType": nil, "eventTimeMs": nil, "eventTimeConfidence": nil, "daoId": nil, "itemType": nil, "proposalKey": nil, "title": nil, "importanceScore": nil,
			},
		},
		{
			name: "list_changes", title: "List changes", routes: []string{routeChanges}, run: list, without: []string{"wait"},
			description: "What to read again: the keys of what was published since a cursor, oldest first. Without a cursor it answers where to begin; " +
				"keep nextCursor for the next time.",
			rows: 50, maxRows: 200,
			concise: shape{"kind": nil, "key": nil, "daoId": nil, "changedAt": nil},
		},
		{
			name: "get_status", title: "Get status and prices", routes: []string{routeStatus, routePricing, routeUsage}, run: getStatus,
			description: "How fresh and how complete the data is, as a whole or of one DAO, what each route costs and, with a token, what it has used.",
		},
	}
}

// allParams returns the arguments: the parameters of all routes and what no route has.
func (t *tool) allParams() []param.Param {
	var all []param.Param
	for _, id := range t.routes {
		for _, one := range t.byRoute[id].Params {
			known := slices.ContainsFunc(all, func(p param.Param) bool { return p.Name == one.Name })
			if known || slices.Contains(t.without, one.Name) {
				continue
			}
			one.Required = one.Required || one.In == param.InPath
			one.In = param.InQuery // errors show name=value
			switch {
			case one.Name == "limit" && t.rows > 0:
				one.Default, one.Max = itoa(t.rows), t.maxRows
			case t.window && (one.Name == "from" || one.Name == "to"):
				one.Required = false
			}
			all = append(all, one)
		}
	}
	all = append(all, t.extra...)
	if t.concise != nil {
		all = append(all, param.Param{
			Name: argDetail, Kind: param.Enum, Enum: []string{concise, full}, Default: concise,
			Description: "concise: what tells rows apart; full: every field.",
		})
	}
	return all
}

// isPaid reports whether a call may cost something.
func (t *tool) isPaid() bool {
	return slices.ContainsFunc(t.routes, func(id string) bool { route := t.byRoute[id]; return route.Paid() })
}
