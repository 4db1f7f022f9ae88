package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
)

const (
	// examplesInterval is how often documents look for new examples after publications.
	examplesInterval = 10 * time.Second
	// examplesTimeout bounds the search, during which a document waits.
	examplesTimeout = 2 * time.Second
	// exampleDAOs is the maximum number of DAOs that are searched for a ballot.
	exampleDAOs = 5
)

// exampleWindow is the window of events around a ballot: from before its vote began until after it ended.
const (
	exampleWindowBefore = 60 * 24 * time.Hour
	exampleWindowAfter  = routes.MaxFeedWindow - exampleWindowBefore
)

var errNoExample = errors.New("no DAO has a voter with a ballot")

// Examples are values of parameters that this node answers with data. The zero value has none.
type Examples struct {
	// DAOID is a DAO with ballots, and where there is one, with forum topics.
	DAOID string
	// Voter is the voter with the most voting power in the DAO.
	Voter string
	// Proposal is one that the voter voted on, and Title its title; empty for none.
	Proposal governance.ProposalKey
	Title    string
	// Topic is a forum topic, of the DAO where it has one; empty where no DAO has any.
	Topic governance.TopicKey
	// From and To are the dates of a window in which things happened to the proposal.
	From, To string
}

// Of returns the example of a parameter: of this node, or else of the route table.
func (e Examples) Of(p param.Param) string {
	return cmp.Or(map[string]string{
		"daoId": e.DAOID, "voterIdentity": e.Voter, "proposalKey": string(e.Proposal), "title": e.Title,
		"topicKey": string(e.Topic), "from": e.From, "to": e.To,
	}[p.Name], p.Example)
}

// exampleCache keeps the examples that were found last. It is safe for concurrent use.
type exampleCache struct {
	mu    sync.Mutex
	found Examples
	// searchedAt is when the last search was, and revision what was published then; zero after a failure.
	searchedAt time.Time
	revision   uint64
	timeout    time.Duration
	backend    *routes.Backend
	routes     map[string]*routes.Route
	now        func() time.Time
}

// get returns examples from the last search, or a new one after a publication; none while none were found.
func (e *exampleCache) get(ctx context.Context) Examples {
	e.mu.Lock()
	defer e.mu.Unlock()
	revision, now := e.backend.Revision(), e.now()
	if revision == e.revision || !e.searchedAt.IsZero() && now.Sub(e.searchedAt) < examplesInterval {
		return e.found
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	e.searchedAt, e.revision = now, 0
	if found, err := e.find(ctx); err == nil {
		e.found, e.revision = found, revision
	}
	return e.found
}

func (e *exampleCache) find(ctx context.Context) (Examples, error) {
	daos, err := rowsOf[governance.DAOListItem](ctx, e, "daos.list", map[string]string{"hasVoteData": "true"})
	if err != nil {
		return Examples{}, err
	}
	slices.SortStableFunc(daos, func(a, b governance.DAOListItem) int {
		return cmp.Compare(strconv.FormatBool(b.HasForumData), strconv.FormatBool(a.HasForumData))
	})
	for _, dao := range daos[:min(exampleDAOs, len(daos))] {
		found, err := e.ballot(ctx, dao)
		if errors.Is(err, errNoExample) {
			continue
		}
		if err != nil {
			return Examples{}, err
		}
		found.Topic, err = e.topic(ctx, dao.DAOID)
		return found, err
	}
	return Examples{}, errNoExample
}

// ballot returns the last ballot of the largest voter of a DAO, as examples.
func (e *exampleCache) ballot(ctx context.Context, dao governance.DAOListItem) (Examples, error) {
	voters, err := rowsOf[governance.DAOVoter](ctx, e, "daos.voters", map[string]string{"daoId": dao.DAOID, "limit": "1"})
	if err != nil {
		return Examples{}, err
	}
	if len(voters) == 0 {
		return Examples{}, errNoExample
	}
	found := Examples{DAOID: dao.DAOID, Voter: voters[0].VoterIdentity}
	ballots, err := rowsOf[governance.VoterVote](ctx, e, "voters.votes", map[string]string{
		"voterIdentity": found.Voter, "daoId": dao.DAOID, "limit": "1",
	})
	if err != nil {
		return Examples{}, err
	}
	if len(ballots) == 0 {
		return Examples{}, errNoExample
	}
	found.Proposal = ballots[0].Proposal.ProposalKey
	if title := ballots[0].Proposal.Title; title != nil && len(*title) <= param.MaxTextBytes {
		found.Title = *title
	}
	if at := cmp.Or(ballots[0].VotedAt, dao.LatestActivity.VoteAt); at != nil {
		found.From = at.Time().Add(-exampleWindowBefore).UTC().Format(time.DateOnly)
		found.To = at.Time().Add(exampleWindowAfter).UTC().Format(time.DateOnly)
	}
	return found, nil
}

// topic returns a topic of a DAO, or else of any; empty for none.
func (e *exampleCache) topic(ctx context.Context, daoID string) (governance.TopicKey, error) {
	for _, texts := range []map[string]string{{"daoId": daoID, "limit": "1"}, {"limit": "1"}} {
		topics, err := rowsOf[governance.ForumTopic](ctx, e, "forum-topics.list", texts)
		if err != nil {
			return "", err
		}
		if len(topics) > 0 {
			return topics[0].TopicKey, nil
		}
	}
	return "", nil
}

// rowsOf returns the rows of a list, as its handler reads them from the cache, free of charge.
func rowsOf[Row any](ctx context.Context, e *exampleCache, routeID string, texts map[string]string) ([]Row, error) {
	route := e.routes[routeID]
	r, err := route.ParseTexts(texts, nil, 0)
	if err != nil {
		return nil, err
	}
	found, err := route.Answer(e.backend, ctx, r)
	if err != nil {
		return nil, err
	}
	rows, _ := found.Data.([]Row)
	return rows, nil
}
