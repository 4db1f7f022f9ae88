package rules_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"testing"

	"pnyx/governance/rules"
	"pnyx/test/check"
)

// situations are signals of real votes, one a line, in the order in which somebody who votes in all
// of these DAOs would read them: what is decided by few for many first, then what can still be
// decided, then what is usual, and the everyday business of a handful last.
//
//go:embed testdata/situations.ndjson
var situations []byte

type situation struct {
	// Type is the type of the signal, DAO the name of its DAO, and Facts what it follows from.
	Type, DAO string
	Facts     rules.VoteFacts
}

// Scores need not be in exactly this order: two situations next to each other are a matter of taste.
// What is far apart must not be reversed, and little else.
func TestSignalsAreInTheOrderOfADelegate(t *testing.T) {
	t.Parallel()
	const (
		many       = 60
		agreeing   = 90 // percent of the pairs
		farReverse = 20 // places
	)
	var names []string
	var scores []int
	for line := range bytes.Lines(situations) {
		var s situation
		check.MustDo(t, json.Unmarshal(line, &s))
		hit, found := hits(s.Facts)[s.Type]
		if !found {
			t.Fatalf("place %d, %s: got no %s", len(scores)+1, s.DAO, s.Type)
		}
		names, scores = append(names, rules.SignalTitle(s.DAO, hit.Title)), append(scores, hit.Score)
	}
	if len(scores) != many {
		t.Fatalf("got %d situations, want %d", len(scores), many)
	}
	pairs, reversed := 0, 0
	for a := range scores {
		for b := a + 1; b < len(scores); b++ {
			pairs++
			if scores[a] >= scores[b] {
				continue
			}
			reversed++
			if b-a >= farReverse {
				t.Errorf("place %d (score %d, %s) is before place %d (score %d, %s)", b+1, scores[b], names[b], a+1, scores[a], names[a])
			}
		}
	}
	if got := 100 * (pairs - reversed) / pairs; got < agreeing {
		t.Errorf("got %d%% of the pairs in order, want %d%%", got, agreeing)
	}
}

// Eleven ballots about a point of interest are not critical, nor are others among the last of these.
func TestTrivialSituationsAreNotCritical(t *testing.T) {
	t.Parallel()
	lines := bytes.Split(bytes.TrimSpace(situations), []byte("\n"))
	for _, line := range lines[len(lines)-20:] {
		var s situation
		check.MustDo(t, json.Unmarshal(line, &s))
		if hit := hits(s.Facts)[s.Type]; rules.PriorityOf(hit.Score).Band == "critical" || rules.PriorityOf(hit.Score).Band == "high" {
			t.Errorf("%s: got score %d", rules.SignalTitle(s.DAO, hit.Title), hit.Score)
		}
	}
}
