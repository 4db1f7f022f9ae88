package cache_test

import (
	"math/rand/v2"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
)

// namedKeys are the keys of everything that has a parameter.
func namedKeys(parameter string) map[string]cache.Key {
	return map[string]cache.Key{
		"data status":  cache.DataStatusKey(parameter),
		"DAO detail":   cache.DAODetailKey(parameter),
		"proposal":     cache.ProposalDetailKey(governance.ProposalKey(parameter)),
		"vote summary": cache.VoteSummaryKey(governance.ProposalKey(parameter)),
		"timeline":     cache.TimelineKey(parameter, governance.VotesCast),
		"ballots":      cache.PageRequest{Kind: cache.BallotPage, Subject: parameter}.Key(),
		"ballots mark": cache.PageRequest{Kind: cache.BallotPage, Subject: parameter}.VersionKey(),
		"voters mark":  cache.PageRequest{Kind: cache.VoterPage, Subject: parameter}.VersionKey(),
		"pending":      cache.PendingKey(cache.Key(parameter)),
	}
}

// fixedKeys are the keys of what there is one of.
func fixedKeys() map[string]cache.Key {
	keys := map[string]cache.Key{
		"lease": cache.LeaseKey, "published": cache.PublicationKey, "state": cache.StateKey, "rows": cache.RowsKey, "queue": cache.QueueKey,
	}
	for _, filter := range cache.AllFilters() {
		keys["list "+string(filter.ListKey())] = filter.ListKey()
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
	if got := len(fixedKeys()); got != 5+45 {
		t.Errorf("fixed keys: got %d, want 5 and 45 lists", got)
	}
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
	var after []*cache.Position
	for _, text := range texts {
		for _, at := range stamps {
			after = append(after,
				&cache.Position{At: at, Key: text}, &cache.Position{At: at, Key: text, Power: "1"})
		}
	}
	requests := []cache.PageRequest{{}, {Limit: cache.ShortPage}, {Limit: cache.LongPage}}
	for _, position := range after {
		requests = append(requests, cache.PageRequest{After: position})
	}
	for _, text := range texts[1:] {
		requests = append(requests,
			cache.PageRequest{Kind: cache.PageKind(text)}, cache.PageRequest{Subject: text}, cache.PageRequest{Order: text}, cache.PageRequest{Filter: cache.Filter{DAOID: text}})
	}
	for _, at := range stamps[1:] {
		requests = append(requests, cache.PageRequest{Filter: cache.Filter{From: at}}, cache.PageRequest{Filter: cache.Filter{To: at}},
			cache.PageRequest{Filter: cache.Filter{From: at, To: at}})
	}
	taken := map[cache.Key]cache.PageRequest{}
	for _, request := range requests {
		if other, is := taken[request.Key()]; is {
			t.Errorf("%+v and %+v share the key %s", request, other, request.Key())
		}
		taken[request.Key()] = request
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
