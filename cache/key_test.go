package cache_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// namedKeys are the keys of everything that has a parameter.
func namedKeys(parameter string) map[string]cache.Key {
	return map[string]cache.Key{
		"data status":     cache.DataStatusKey(parameter),
		"DAO detail":      cache.DAODetailKey(parameter),
		"proposal":        cache.ProposalDetailKey(governance.ProposalKey(parameter)),
		"vote summary":    cache.VoteSummaryKey(governance.ProposalKey(parameter)),
		"timeline":        cache.TimelineKey(parameter, governance.VotesCast),
		"ballots":         cache.NewPageRequest(query.Ballots{Proposal: governance.ProposalKey(parameter)}).Key(),
		"ballots version": cache.NewPageRequest(query.Ballots{Proposal: governance.ProposalKey(parameter)}).VersionKey(),
		"voters version":  cache.NewPageRequest(query.Voters{DAOID: parameter}).VersionKey(),
		"pending":         cache.PendingKey(cache.Key(parameter)),
	}
}

// fixedKeys are the keys of what there is one of.
func fixedKeys() map[string]cache.Key {
	keys := map[string]cache.Key{
		"lease": cache.LeaseKey, "published": cache.PublicationKey, "state": cache.StateKey, "rows": cache.RowsKey, "queue": cache.QueueKey("kind"),
	}
	for _, filter := range cache.AllFilters() {
		keys["list "+string(cache.ListKey(filter))] = cache.ListKey(filter)
	}
	return keys
}

func TestNoTwoThingsShareAKey(t *testing.T) {
	t.Parallel()
	taken := map[cache.Key]string{}
	claim := func(name string, key cache.Key) {
		if other, is := taken[key]; is {
			t.Errorf("%s and %s share the key %s", name, other, key)
		}
		taken[key] = name
	}
	env.Want(t, 5+90, len(fixedKeys()), "fixed keys", "5 and 90 lists")
	for name, key := range fixedKeys() {
		claim(name, key)
	}
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 3000 {
		parameter := make([]byte, random.IntN(6))
		for i := range parameter {
			const awkward = ":%+ a&{}dao2F/\x00\xff"
			parameter[i] = awkward[random.IntN(len(awkward))]
		}
		if seen[string(parameter)] {
			continue
		}
		seen[string(parameter)] = true
		for name, key := range namedKeys(string(parameter)) {
			claim(name+" "+string(parameter), key)
		}
	}
}

func TestNoTwoPagesShareAKey(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "b", "a:b", "a|b", "|", "%7C", "1", ":"}
	stamps := []*governance.Timestamp{nil, new(governance.Timestamp(0)), new(governance.Timestamp(1))}
	taken := map[cache.Key]string{}
	claim := func(q query.Page) {
		key, name := cache.NewPageRequest(q).Key(), fmt.Sprintf("%T %+v", q, q)
		if other, is := taken[key]; is {
			t.Errorf("%s and %s share the key %s", name, other, key)
		}
		taken[key] = name
	}
	for _, text := range texts {
		claim(query.Profile{Voter: query.Voter(text)})
		claim(query.VoterVotes{Voter: query.Voter(text)})
		claim(query.Resolve{URL: text})
		claim(query.Proposals{DAOID: text})
		if text != "" {
			claim(query.Resolve{Title: text})
			claim(query.Proposals{Provider: text})
			claim(query.Proposals{Proposer: query.Voter(text)})
		}
		for _, at := range stamps {
			ballots := query.Ballots{Proposal: "p"}
			ballots.After = &query.BallotPosition{At: at, Voter: text}
			claim(ballots)
			ballots.After = &query.BallotPosition{At: at, Voter: text, Power: "1"}
			claim(ballots)
			ballots.Limit = query.LongPage
			claim(ballots)
		}
	}
	for _, at := range stamps[1:] {
		claim(query.Proposals{From: at})
		claim(query.Proposals{To: at})
		claim(query.Proposals{From: at, To: at})
		claim(query.Topics{UpdatedFrom: at})
	}
}

// TestQueriesAreDecodedAsTheyWere holds for zero times too, which are not none.
func TestQueriesAreDecodedAsTheyWere(t *testing.T) {
	t.Parallel()
	want := query.Proposals{
		DAOID: "dao", Lifecycles: []governance.Lifecycle{governance.Active}, From: new(governance.Timestamp(0)),
		Time: query.ProposalEndAt, Order: query.ProposalsEndingSoon,
		Paging: query.Paging[query.ProposalPosition]{
			After: &query.ProposalPosition{Band: 1, At: new(governance.Timestamp(0)), Key: "p1_a"}, Limit: query.ShortPage,
		},
	}
	var got query.Proposals
	env.MustDo(t, cache.NewPageRequest(want).Decode(&got))
	env.WantSame(t, "a query after encoding and decoding", want, got)
}

// A worker must not make a page of a newer version without the filter that it does not know.
func TestAQueryWithAnUnknownFieldIsRejected(t *testing.T) {
	t.Parallel()
	var got query.Profile
	if err := cache.NewPageRequest(query.VoterVotes{Voter: "a", DAOID: "dao"}).Decode(&got); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("uniswap", "uniswap:x")
	f.Add("a b", "a+b")
	f.Add("%2F", "/")
	f.Add("", ":")
	f.Fuzz(func(t *testing.T, one, other string) {
		for name, key := range namedKeys(one) {
			for otherName, otherKey := range namedKeys(other) {
				if same := name == otherName && one == other; same != (key == otherKey) {
					t.Fatalf("%s %q: %q, %s %q: %q", name, one, key, otherName, other, otherKey)
				}
			}
		}
	})
}
