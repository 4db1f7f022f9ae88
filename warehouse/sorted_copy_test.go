package warehouse_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// copied is how many ballots the copy has, and asked how many the page.
const copied, asked = 20_000, 10

// TestPageOfSortedCopyReadsFewRows at any depth, also where all ballots are equal but for the
// voter, and also for the rows of several pages.
func TestPageOfSortedCopyReadsFewRows(t *testing.T) {
	t.Parallel()
	const generation = 1
	w := open(t)
	votedAt := at("2026-01-01T00:00:00Z")
	records := make([]record.Record, copied)
	for i := range records {
		voter := voterNumber(i)
		one := ballot("equal", voter, voter, "1", "1.5", votedAt)
		one.Reason = strings.Repeat("ä", 1001)
		records[i] = one
	}
	appendAll(t, w, records...)
	order := pages.SortedCopy{Kind: pages.BallotCopy, Subject: "equal", Ref: ref("equal").Hash()}
	env.MustDo(t, pages.BuildSortedCopy(t.Context(), w, order, generation))
	source := pages.BallotSource{Ref: order.Ref, Generation: generation}
	positions := map[string]int{"first page": copied, "second page": copied - asked, "middle": copied / 2}
	for name, by := range map[string]query.BallotOrder{"power": query.BallotsByPower, "time": query.BallotsByTime} {
		for where, next := range positions {
			for _, limit := range []int{asked, 2001} {
				t.Run(fmt.Sprintf("%d by %s: %s", limit, name, where), func(t *testing.T) {
					q := query.Ballots{Order: by, Paging: query.Paging[query.BallotPosition]{Limit: limit}}
					if next < copied {
						q.After = &query.BallotPosition{Power: "1.5", At: votedAt, Voter: voterNumber(next)}
					}
					var page []pages.LatestBallot
					read := rowsRead(t, func(ctx context.Context) (err error) {
						page, err = pages.ListBallots(ctx, w, source, q)
						return err
					})
					if len(page) != limit || page[0].VoterIdentity != voterNumber(next-1) || page[limit-1].VoterIdentity != voterNumber(next-limit) {
						t.Errorf("got %v", page)
					}
					if got, want := page[0].Reason, strings.Repeat("ä", 999)+"…"; got == nil || *got != want {
						t.Errorf("got reason %v, want %q", got, want)
					}
					if read == 0 || read > copied/2 {
						t.Errorf("read %d of %d rows for %d", read, copied, limit)
					}
				})
			}
		}
	}
}

func TestCopyOfAnEarlierFormatIsBuiltAgain(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	writeStates(t, w, large("a", 1))
	mustExec(t, raw(t, url), "INSERT INTO sorted_copies (kind, subject, generation, revision) VALUES ('ballots', 'a', 7, 1), ('voters', 'dao', 7, 1)")
	copies, err := pages.StaleSortedCopies(t.Context(), w)
	if err != nil || len(copies) != 2 || copies[0].Generation != 7 {
		t.Errorf("got %v (%v), want both copies of generation 7", copies, err)
	}
}

// large is a proposal with enough ballots for a copy.
func large(id string, revision uint64) counts.ProposalState {
	return counts.ProposalState{
		Ref: ref(id).Hash(), Key: governance.ProposalKey(id), Votes: copied, Power: decimal.Zero, Revision: revision,
		Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: id},
	}
}

func voterNumber(i int) string { return fmt.Sprintf("0x%06d", i) }

func TestCopiesFollowAWithdrawnProposal(t *testing.T) {
	t.Parallel()
	w := open(t)
	stale := func(states ...counts.ProposalState) (subjects []string) {
		t.Helper()
		writeStates(t, w, states...)
		copies := env.Must(pages.StaleSortedCopies(t.Context(), w))(t)
		for _, c := range copies {
			subjects = append(subjects, fmt.Sprintf("%s %s at %d", c.Kind, c.Subject, c.Revision))
			c.Generation = c.Revision
			env.MustDo(t, pages.SwitchSortedCopy(t.Context(), w, c))
		}
		return subjects
	}
	current := func() (subjects []string) {
		t.Helper()
		copies := env.Must(pages.CurrentSortedCopies(t.Context(), w))(t)
		for _, c := range copies {
			subjects = append(subjects, c.Subject)
		}
		return subjects
	}
	gone := large("b", 3)
	gone.Identity.DAOID, gone.WithdrawnFrom = "", "dao"
	for _, c := range []struct {
		name           string
		states         []counts.ProposalState
		stale, current []string
	}{
		{"both published", []counts.ProposalState{large("a", 1), large("b", 2)}, []string{"ballots a at 1", "ballots b at 2", "voters dao at 2"}, []string{"a", "b", "dao"}},
		{"one withdrawn", []counts.ProposalState{gone}, []string{"voters dao at 3"}, []string{"a", "dao"}},
		{"nothing new", nil, nil, []string{"a", "dao"}},
		{"back again", []counts.ProposalState{large("b", 4)}, []string{"ballots b at 4", "voters dao at 4"}, []string{"a", "b", "dao"}},
	} {
		env.WantSame(t, fmt.Sprintf("%s: stale copies", c.name), c.stale, stale(c.states...))
		env.WantSame(t, fmt.Sprintf("%s: current copies", c.name), c.current, current())
	}
}
