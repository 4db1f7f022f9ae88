package publish

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// previousState is the key of the state of publication of the version before.
const previousState = "pnyx:4:{worker}:publication"

// mismatched is a ballot with a part: unless that is its power of 5, the choices of its proposal
// do not sum to the ballots until its voter votes again.
func (e *electorate) mismatched(part int64) *record.Ballot {
	return &record.Ballot{
		Proposal: e.proposals[0], VoteID: "twice", Voter: "0xtwice", Power: decimal.New(5, 0), Choices: []string{"1"},
		Shares: []decimal.Decimal{decimal.NewFromInt(part)}, ChoiceKey: "1", RawChoice: "1",
	}
}

func (e *electorate) detail() cache.View {
	e.t.Helper()
	view, err := e.publisher.Store.View(e.t.Context(), cache.DAODetailKey("space-0"))
	if err != nil {
		e.t.Fatal(err)
	}
	return view
}

// While nodes of the version before serve, nodes of this one do not become ready with a DAO
// withheld whose ballots landed as it was counted.
func TestFirstPublicationOfAFormatCountsAgainWhatItWithholds(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"the version before serves": true, "nobody serves": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newElectorate(t, 1)
			e.publisher.rangedFrom = pages.SortedCopyThreshold
			e.append([]record.Record{e.mismatched(4)})
			e.flush()
			if served {
				if err := env.RedisClient(t, e.redisURL).Set(t.Context(), previousState, "state", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			e.shown = func() {
				e.shown = func() {}
				if _, err := e.publisher.Store.PublicationState(t.Context()); err != nil { // before nodes are ready
					e.append([]record.Record{e.mismatched(5)})
				}
			}
			e.step()
			if got := e.detail().IsWithheld(); got == served {
				t.Errorf("got the DAO withheld: %t, want %t", got, !served)
			}
		})
	}
}

// What a publication of everything keeps may be of long ago, as the numbers of an earlier version
// which has come back: it does not say that it is fresh.
func TestKeptNumbersAreFreshNoLongerThanTheyAreKnownToBe(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.publisher.rangedFrom = pages.SortedCopyThreshold
	before := e.detail()
	e.append([]record.Record{e.mismatched(4)})
	e.takeOver()
	pulse, err := e.publisher.Warehouse.Pulse(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.term.publishAll(t.Context(), pulse.Now.Add(time.Hour), "others"); err != nil {
		t.Fatal(err)
	}
	after := e.detail()
	if after.FreshUntil == nil || *after.FreshUntil != before.DataAsOf || after.DataAsOf != before.DataAsOf {
		t.Errorf("got numbers of %s, fresh until %v, want both to be %s", after.DataAsOf, after.FreshUntil, before.DataAsOf)
	}
	var dao governance.DAODetail
	if err := after.Decode(&dao); err != nil {
		t.Errorf("got %v, want the numbers of before", err)
	}
}
