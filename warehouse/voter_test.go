package warehouse_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
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
	env.MustDo(t, errors.Join(errs...))
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

// The row of a proposal is written after its state.
func TestAVotersProposalsHaveTheirLatestTitles(t *testing.T) {
	t.Parallel()
	w := open(t)
	row := func(id, title string, revision uint64) pages.ListedProposal {
		p := listed("dao", id, title, revision)
		p.Key = governance.ProposalKey(id)
		return p
	}
	var states []counts.ProposalState
	want := map[string]string{"renamed": "after", "without a row": "stated", "without a title": "", "open": "to vote on"}
	for id, title := range want {
		appendAll(t, w, &record.Proposal{ProposalRef: ref(id), SourceID: "dao", Title: title})
		state := counts.ProposalState{
			Ref: ref(id).Hash(), Key: governance.ProposalKey(id), Power: decimal.Zero, Revision: 1, Lifecycle: governance.Closed,
			Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot},
		}
		if id == "open" {
			state.Lifecycle = governance.Active
		} else {
			appendAll(t, w, ballot(id, "0xa", "v", "1", "1", at("2026-01-01T00:00:00Z")))
		}
		states = append(states, state)
	}
	writeStates(t, w, states...)
	for _, p := range []pages.ListedProposal{row("renamed", "before", 1), row("renamed", "after", 2), row("without a title", "", 1)} {
		writeListed(t, w, p)
	}
	history, pending := query.VoterVotes{Voter: "0xa"}, query.OpenVotes{Voter: "0xa"}
	history.Limit, pending.Limit = 9, 9
	votes, err := pages.ListVoterVotes(t.Context(), w, history)
	open, errOpen := pages.ListOpenVotes(t.Context(), w, pending)
	env.MustDo(t, errors.Join(err, errOpen))
	got := map[string]string{}
	show := func(key governance.ProposalKey, title *string) {
		if got[string(key)] = ""; title != nil {
			got[string(key)] = *title
		}
	}
	for _, vote := range votes {
		show(vote.Proposal.ProposalKey, vote.Proposal.Title)
	}
	for _, vote := range open {
		show(vote.Proposal.ProposalKey, vote.Proposal.Title)
	}
	env.WantSame(t, "titles", want, got)
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
	early, late := at("2026-01-01"), at("2026-01-02")
	appendAll(t, w, ballot("0x1", short, "a", "1", "60", early), ballot("0x1", padded, "b", "1", "60", late),
		ballot("0x2", short, "c", "1", "60", early), ballot("0x2", "0xfeed", "d", "1", "60", early))
	const name = "migrations/0035_voters.sql"
	migration := fstest.MapFS{name: {Data: env.ReadFile(t, name)}}
	for range 2 {
		env.MustDo(t, warehouse.MigrateWith(t.Context(), warehouse.Options{URL: url}, migration, math.MaxInt))
		got := env.Column(t, raw(t, url), "SELECT concat(vote_id, ' ', voter) FROM latest_ballots ORDER BY vote_id")
		if want := []string{"b " + padded, "c " + padded, "d 0xfeed"}; !slices.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
