package warehouse_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// readTogether runs the reads as one set and returns how many rows their statements read.
func readTogether(t *testing.T, reads ...func(context.Context) error) uint64 {
	t.Helper()
	var rows atomic.Uint64
	ctx := clickhouse.Context(t.Context(), clickhouse.WithProgress(func(p *clickhouse.Progress) { rows.Add(p.Rows) }))
	set := warehouse.NewSet(len(reads))
	errs := make([]error, len(reads))
	var running sync.WaitGroup
	for i, read := range reads {
		running.Go(func() {
			defer set.Leave()
			errs[i] = read(set.With(ctx))
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return rows.Load()
}

func TestASetReadsTheRowsOfItsPages(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	const proposals, voters, members = 200, 500, 16
	generated(t, url, proposals, voters)
	refs := env.Column(t, env.ConnectWarehouse(t, url), "SELECT hex(proposal_ref) FROM proposal_states ORDER BY proposal_key")
	for name, c := range map[string]struct {
		read    func(ctx context.Context, member int) (rows int, err error)
		rows    int
		maxRead uint64 // of the 200,000 casts
	}{
		"ballots": {func(ctx context.Context, member int) (int, error) {
			var at pages.BallotSource
			if _, err := hex.Decode(at.Ref[:], []byte(refs[member*11])); err != nil {
				return 0, err
			}
			page, err := pages.ListBallots(ctx, w, at, firstBallots(query.BallotsByPower, 50))
			return len(page), err
		}, 50, 60_000},
		"profiles": {func(ctx context.Context, member int) (int, error) {
			profile, err := pages.VoterProfile(ctx, w, fmt.Sprintf("0x%02X", member/2*11)) // two members read about one voter
			return len(profile.DAOs), err
		}, 10, 30_000},
		"histories": {func(ctx context.Context, member int) (int, error) {
			q := query.VoterVotes{Voter: query.Voter(fmt.Sprintf("0x%02X", member/2*11))}
			q.Limit = 150
			votes, err := pages.ListVoterVotes(ctx, w, q)
			return len(votes), err
		}, 150, 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			var reads []func(context.Context) error
			for member := range members {
				reads = append(reads, func(ctx context.Context) error {
					rows, err := c.read(ctx, member)
					if err == nil && rows != c.rows {
						err = fmt.Errorf("got %d rows, want %d", rows, c.rows)
					}
					return err
				})
			}
			if read := readTogether(t, reads...); read > c.maxRead {
				t.Errorf("read %d rows for %d pages, want at most %d", read, members, c.maxRead)
			}
		})
	}
}

// TestAHistoryDecompressesFewBlocks counts bytes, because blocks of the default size hold the
// ballots of many other voters too.
func TestAHistoryDecompressesFewBlocks(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	generated(t, url, 10, 10_000)
	var decompressed atomic.Int64
	ctx := clickhouse.Context(t.Context(), clickhouse.WithProfileEvents(func(events []clickhouse.ProfileEvent) {
		for _, e := range events {
			if e.Name == "CompressedReadBufferBytes" {
				decompressed.Add(e.Value)
			}
		}
	}))
	q := query.VoterVotes{Voter: "0xF0"}
	q.Limit = 20
	votes, err := pages.ListVoterVotes(ctx, w, q)
	if err != nil || len(votes) != 10 {
		t.Fatalf("got %d votes and %v, want 10", len(votes), err)
	}
	const most = 350_000
	if got := decompressed.Load(); got == 0 || got > most {
		t.Errorf("decompressed %d bytes for %d votes, want at most %d", got, len(votes), most)
	}
}

func TestAHistoryShowsTheLatestTitles(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, &record.Proposal{ProposalRef: ref("p"), SourceID: "dao", Title: "after"})
	appendAll(t, w, ballot("p", "0xa", "v", "1", "1", at("2026-01-01T00:00:00Z")))
	err := counts.WriteProposalStates(t.Context(), w, []counts.ProposalState{{
		Ref: ref("p").Hash(), Key: "p", Power: decimal.Zero, Revision: 1,
		Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, title := range []string{"before", "after"} {
		row := pages.ListedProposal{Ref: ref("p").Hash(), Key: "p", Title: title, Revision: uint64(i + 1)}
		if err := pages.WriteListed(t.Context(), w, []pages.ListedProposal{row}); err != nil {
			t.Fatal(err)
		}
	}
	q := query.VoterVotes{Voter: "0xa"}
	q.Limit = 1
	votes, err := pages.ListVoterVotes(t.Context(), w, q)
	if err != nil || len(votes) != 1 || votes[0].Proposal.Title == nil || *votes[0].Proposal.Title != "after" {
		t.Errorf("got %+v and %v, want one vote on a proposal with the title after", votes, err)
	}
}

// The row of a proposal is written after its state.
func TestAVotersProposalsHaveTitlesBeforeTheirRows(t *testing.T) {
	t.Parallel()
	w := open(t)
	var states []counts.ProposalState
	for id, lifecycle := range map[string]governance.Lifecycle{"voted": governance.Closed, "open": governance.Active} {
		appendAll(t, w, &record.Proposal{ProposalRef: ref(id), SourceID: "dao", Title: "Title of " + id})
		states = append(states, counts.ProposalState{
			Ref: ref(id).Hash(), Key: governance.ProposalKey(id), Power: decimal.Zero, Revision: 1, Lifecycle: lifecycle,
			Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot},
		})
	}
	appendAll(t, w, ballot("voted", "0xa", "v", "1", "1", at("2026-01-01T00:00:00Z")))
	writeStates(t, w, states...)
	history, pending := query.VoterVotes{Voter: "0xa"}, query.OpenVotes{Voter: "0xa"}
	history.Limit, pending.Limit = 1, 1
	votes, err := pages.ListVoterVotes(t.Context(), w, history)
	if err != nil || len(votes) != 1 || votes[0].Proposal.Title == nil || *votes[0].Proposal.Title != "Title of voted" {
		t.Errorf("got %+v and %v, want one vote with a title", votes, err)
	}
	open, err := pages.ListOpenVotes(t.Context(), w, pending)
	if err != nil || len(open) != 1 || open[0].Proposal.Title == nil || *open[0].Proposal.Title != "Title of open" {
		t.Errorf("got %+v and %v, want one open vote with a title", open, err)
	}
}

func TestAHistoryHasProposalsWithoutTitles(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, &record.Proposal{ProposalRef: ref("p"), SourceID: "dao"}, ballot("p", "0xa", "v", "1", "1", at("2026-01-01T00:00:00Z")))
	identity := governance.Identity{DAOID: "dao", Provider: governance.Snapshot}
	err := errors.Join(
		counts.WriteProposalStates(t.Context(), w, []counts.ProposalState{{
			Ref: ref("p").Hash(), Key: "p", Power: decimal.Zero, Revision: 1, Identity: identity,
		}}),
		pages.WriteListed(t.Context(), w, []pages.ListedProposal{listed("dao", "p", "", 1)}),
	)
	if err != nil {
		t.Fatal(err)
	}
	q := query.VoterVotes{Voter: "0xa"}
	q.Limit = 1
	votes, err := pages.ListVoterVotes(t.Context(), w, q)
	if err != nil || len(votes) != 1 || votes[0].Proposal.Title != nil {
		t.Errorf("got %+v and %v, want one vote on a proposal without a title", votes, err)
	}
}

func TestAVoterWithManyBallotsIsReadCompletely(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	const ballots = pages.MaxSharedVotes + 1
	generated(t, url, ballots, 2)
	profile := func(ctx context.Context, voter, want string) error {
		got, err := pages.VoterProfile(ctx, w, voter)
		if err == nil && (string(got.VoteCount) != want || string(got.TotalVotingPower) != want) {
			err = fmt.Errorf("%s: got %s ballots with %s, want %s", voter, got.VoteCount, got.TotalVotingPower, want)
		}
		return err
	}
	all := fmt.Sprint(ballots)
	readTogether(t,
		func(ctx context.Context) error { return profile(ctx, "0x00", all) },
		func(ctx context.Context) error { return profile(ctx, "0xNone", "0") },
		func(ctx context.Context) error {
			q := query.VoterVotes{Voter: "0x01"}
			q.Limit = 2
			votes, err := pages.ListVoterVotes(ctx, w, q)
			if err == nil && (len(votes) != 2 || votes[0].Proposal.ProposalKey != "p1_999" || votes[1].Proposal.ProposalKey != "p1_998") {
				err = fmt.Errorf("got the votes %+v, want those with the greatest keys", votes)
			}
			return err
		})
	if err := profile(t.Context(), "0x00", all); err != nil {
		t.Error("alone: ", err)
	}
}

func TestStoredVotersGetTheSpellingOfTheirIdentity(t *testing.T) {
	t.Parallel()
	const short, padded = "0x57a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc",
		"0x057a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc"
	w, url := openURL(t)
	cast := func(proposal, vote, voter string, at governance.Timestamp) *record.Ballot {
		return &record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposal}, VoteID: vote, Voter: voter,
			Power: decimal.NewFromInt(60), Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1", VotedAt: &at,
		}
	}
	if _, err := records.Append(t.Context(), w, newRun(), []record.Record{
		cast("0x1", "a", short, 1000), cast("0x1", "b", padded, 2000), cast("0x2", "c", short, 1000), cast("0x2", "d", "0xfeed", 1000),
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := warehouse.MigrateWith(t.Context(), warehouse.Options{URL: url}, warehouse.MigrationFiles, math.MaxInt); err != nil {
			t.Fatal(err)
		}
		var votes []struct{ Vote string }
		if err := env.ConnectWarehouse(t, url).Select(t.Context(), &votes, "SELECT concat(vote_id, ' ', voter) AS Vote FROM latest_ballots ORDER BY vote_id"); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(votes), "[{b "+padded+"} {c "+padded+"} {d 0xfeed}]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
