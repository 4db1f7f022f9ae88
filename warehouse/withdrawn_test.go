package warehouse_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
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

// withdrawals are what voters did on some proposals of one DAO: casts, corrections of them,
// withdrawals, and casts that come back. It holds the latest version of each cast.
type withdrawals struct {
	t         *testing.T
	random    *rand.Rand
	warehouse *warehouse.Warehouse
	conn      driver.Conn
	database  string
	casts     map[string]*record.Ballot
}

const (
	withdrawalProposals = 3
	withdrawalVoters    = 8
)

func proposalName(n int) string { return fmt.Sprintf("p%d", n) }

// next writes versions of random casts as one batch. Times are few, so that many are
// equal.
func (h *withdrawals) next(count int) {
	h.t.Helper()
	batch := map[string]record.Record{}
	for range count {
		proposal, voter := proposalName(h.random.IntN(withdrawalProposals)), fmt.Sprintf("0x%02d", h.random.IntN(withdrawalVoters))
		id := fmt.Sprintf("%s-%s-%d", proposal, voter, h.random.IntN(3))
		var b record.Ballot
		if held := h.casts[id]; held != nil && h.random.IntN(4) > 0 {
			b = *held
			b.Withdrawn = !b.Withdrawn
		} else {
			b = *ballot(proposal, voter, id, fmt.Sprint(1+h.random.IntN(2)), fmt.Sprintf("%d.5", h.random.IntN(8)), nil)
			if day := h.random.IntN(4); day > 0 {
				b.VotedAt = at(fmt.Sprintf("2026-0%d-01T00:00:00Z", day))
			}
		}
		h.casts[id], batch[id] = &b, &b
	}
	appendAll(h.t, h.warehouse, slices.Collect(maps.Values(batch))...)
	if h.random.IntN(3) == 0 {
		mustExec(h.t, h.conn, "OPTIMIZE TABLE ballots FINAL")
	}
}

// counting are the ballots that count on a proposal, by voter, and all that are held.
func (h *withdrawals) counting(proposal string) (latest map[string]*record.Ballot, held int) {
	latest = map[string]*record.Ballot{}
	for _, b := range h.casts {
		if b.Proposal.ExternalID != proposal || b.Withdrawn {
			continue
		}
		held++
		if other := latest[b.Voter]; other == nil || supersedes(b, other) {
			latest[b.Voter] = b
		}
	}
	return latest, held
}

func supersedes(a, b *record.Ballot) bool {
	return cmp.Or(cmp.Compare(stamp(a), stamp(b)), cmp.Compare(a.VoteID, b.VoteID)) > 0
}

// stamp is the time of a ballot; without one it is before all others.
func stamp(b *record.Ballot) governance.Timestamp {
	if b.VotedAt == nil {
		return -1
	}
	return *b.VotedAt
}

// firstBallots selects the first ballots in an order.
func firstBallots(order query.BallotOrder, limit int) query.Ballots {
	return query.Ballots{Order: order, Paging: query.Paging[query.BallotPosition]{Limit: limit}}
}

func sumPower(ballots map[string]*record.Ballot) decimal.Decimal {
	sum := decimal.Zero
	for _, b := range ballots {
		sum = sum.Add(b.Power)
	}
	return sum
}

func TestWithdrawnBallotsCountNowhere(t *testing.T) {
	t.Parallel()
	compareWithModel(t, 1, 8)
}

func TestLongHistoriesOfWithdrawalsEqualAModel(t *testing.T) {
	t.Parallel()
	compareWithModel(t, 3, 20)
}

// compareWithModel compares random histories, each after every one of its batches.
func compareWithModel(t *testing.T, histories uint64, batches int) {
	t.Helper()
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			opened, url := openURL(t)
			conn := raw(t, url)
			h := &withdrawals{
				t: t, random: rand.New(rand.NewPCG(11, seed)), warehouse: opened, conn: conn,
				database: env.Column(t, conn, "SELECT currentDatabase()")[0], casts: map[string]*record.Ballot{},
			}
			h.publishProposals()
			for n := range batches {
				count := 1 + h.random.IntN(6)
				if n > batches*2/3 { // most casts there are, with many in one place of an order
					count = 80
				}
				h.next(count)
				h.check()
			}
		})
	}
}

// publishProposals gives the proposals a DAO, as a publication does.
func (h *withdrawals) publishProposals() {
	h.t.Helper()
	daoOf := map[string]string{}
	for n := range withdrawalProposals {
		daoOf[proposalName(n)] = "dao"
	}
	publishInDAOs(h.t, h.warehouse, daoOf)
}

func (h *withdrawals) check() {
	h.t.Helper()
	voters := map[string]map[string]*record.Ballot{}
	var votes, waiting, superseded int
	for n := range withdrawalProposals {
		latest, held := h.counting(proposalName(n))
		h.checkTotals(proposalName(n), latest, held)
		h.checkPages(proposalName(n), latest)
		for voter, b := range latest {
			if voters[voter] == nil {
				voters[voter] = map[string]*record.Ballot{}
			}
			voters[voter][proposalName(n)] = b
		}
		votes, waiting, superseded = votes+len(latest), waiting+held, superseded+held-len(latest)
	}
	h.checkDAO(voters, votes, waiting)
	for range 2 {
		voter := fmt.Sprintf("0x%02d", h.random.IntN(withdrawalVoters))
		h.checkVoter(voter, voters[voter])
	}
	h.checkViews(len(voters), votes, superseded)
}

// checkTotals holds all ways of counting against the model.
func (h *withdrawals) checkTotals(proposal string, latest map[string]*record.Ballot, held int) {
	h.t.Helper()
	hash, choices := ref(proposal).Hash(), map[string]uint64{}
	var last *governance.Timestamp
	for _, b := range latest {
		choices[b.ChoiceKey]++
		last = governance.Later(last, b.VotedAt)
	}
	for name, count := range map[string]func() (map[record.RefHash]counts.VoteTotals, error){
		"compared": func() (map[record.RefHash]counts.VoteTotals, error) {
			return counts.VoteTotalsOf(h.t.Context(), h.warehouse, []record.RefHash{hash})
		},
		"merged": func() (map[record.RefHash]counts.VoteTotals, error) {
			return counts.MergedTotals(h.t.Context(), h.warehouse, []record.RefHash{hash})
		},
		"stored": func() (map[record.RefHash]counts.VoteTotals, error) {
			return counts.StoredVoteTotals(h.t.Context(), h.warehouse, []record.RefHash{hash})
		},
	} {
		totals := env.Must(count())(h.t)
		got, counted := totals[hash]
		if counted != (len(latest) > 0) || got.Votes != uint64(len(latest)) || !got.Power.Equal(sumPower(latest)) ||
			got.Recast != (held > len(latest)) || got.Choices["1"].Votes != choices["1"] || got.Choices["2"].Votes != choices["2"] ||
			(got.LastVotedAt == nil) != (last == nil) || last != nil && *got.LastVotedAt != *last {
			h.t.Errorf("%s %s: got %+v, want %d votes of %s, choices %v, the last at %v, of %d casts",
				proposal, name, got, len(latest), sumPower(latest), choices, last, held)
		}
	}
	var ranked uint64
	rankings, err := counts.Rankings(h.t.Context(), h.warehouse, []record.RefHash{hash})
	for _, r := range rankings[hash] {
		ranked += r.Votes
	}
	if err != nil || ranked != uint64(len(latest)) {
		h.t.Errorf("%s: got %d ranked ballots (%v), want %d", proposal, ranked, err, len(latest))
	}
}

// checkPages holds pages from the table and from a sorted copy against the model.
func (h *withdrawals) checkPages(proposal string, latest map[string]*record.Ballot) {
	h.t.Helper()
	inOrder := map[query.BallotOrder]func(a, b *record.Ballot) int{
		query.BallotsByPower: func(a, b *record.Ballot) int { return b.Power.Cmp(a.Power) },
		query.BallotsByTime:  func(a, b *record.Ballot) int { return cmp.Compare(stamp(b), stamp(a)) },
	}
	sorted := pages.SortedCopy{Kind: pages.BallotCopy, Subject: proposal, Ref: ref(proposal).Hash()}
	generation := h.random.Uint64N(1 << 40)
	env.MustDo(h.t, pages.BuildSortedCopy(h.t.Context(), h.warehouse, sorted, generation))
	for _, source := range []pages.BallotSource{{Ref: sorted.Ref}, {Ref: sorted.Ref, Generation: generation}} {
		for order, compare := range inOrder {
			want := slices.SortedFunc(maps.Values(latest), func(a, b *record.Ballot) int { return cmp.Or(compare(a, b), cmp.Compare(b.Voter, a.Voter)) })
			for _, limit := range []int{1, 2, 50} {
				page := env.Must(pages.ListBallots(h.t.Context(), h.warehouse, source, firstBallots(order, limit)))(h.t)
				same := func(got pages.LatestBallot, b *record.Ballot) bool {
					return got.VoterIdentity == b.Voter && got.VoteID == b.VoteID && got.VotingPower == governance.DecimalOf(b.Power) &&
						(got.VotedAt == nil) == (b.VotedAt == nil)
				}
				if !slices.EqualFunc(page, want[:min(limit, len(want))], same) {
					h.t.Errorf("%s by %s, generation %d: got %+v, want the first %d of %+v", proposal, order, source.Generation, page, limit, want)
				}
			}
		}
	}
}

func (h *withdrawals) checkDAO(voters map[string]map[string]*record.Ballot, votes, waiting int) {
	h.t.Helper()
	checkParticipation(h.t, h.warehouse, counts.Participation{UniqueVoters: uint64(len(voters)), Votes: uint64(votes)})
	ranking, err := pages.ListVoters(h.t.Context(), h.warehouse, query.Voters{DAOID: "dao", Paging: query.Paging[query.VoterPosition]{Limit: 50}}, 0)
	if err != nil || len(ranking) != len(voters) {
		h.t.Errorf("got %d ranked voters (%v), want %d", len(ranking), err, len(voters))
	}
	for _, row := range ranking {
		env.Want(h.t, governance.DecimalOf(sumPower(voters[row.VoterIdentity])), row.TotalVotingPower, row.VoterIdentity)
	}
	// The proposals are not imported: every ballot waits for one.
	env.Want(h.t, uint64(waiting), env.Must(records.WaitingBallots(h.t.Context(), h.warehouse))(h.t), "waiting ballots")
}

func (h *withdrawals) checkVoter(voter string, on map[string]*record.Ballot) {
	h.t.Helper()
	profile, err := pages.VoterProfile(h.t.Context(), h.warehouse, voter)
	if err != nil || profile.VoteCount != governance.CountOf(uint64(len(on))) || profile.TotalVotingPower != governance.DecimalOf(sumPower(on)) {
		h.t.Errorf("%s: got %+v (%v), want %d votes of %s", voter, profile, err, len(on), sumPower(on))
	}
	q := query.VoterVotes{Voter: query.Voter(voter), Paging: query.Paging[query.VoterVotePosition]{Limit: 50}}
	history := env.Must(pages.ListVoterVotes(h.t.Context(), h.warehouse, q))(h.t)
	env.Want(h.t, len(on), len(history), voter, "votes")
	merged, err := pages.BallotsOf(h.t.Context(), h.warehouse, voter)
	power := decimal.Zero
	for _, b := range merged {
		power = power.Add(b.Power)
	}
	if err != nil || len(merged) != len(on) || !power.Equal(sumPower(on)) {
		h.t.Errorf("%s: the engine merges to %d votes of %s (%v), want %d of %s", voter, len(merged), power, err, len(on), sumPower(on))
	}
	for _, vote := range history {
		if b := on[string(vote.Proposal.ProposalKey)]; b == nil || vote.VotingPower != governance.DecimalOf(b.Power) || vote.RawChoice != b.RawChoice {
			h.t.Errorf("%s: got %+v, want %+v", voter, vote, b)
		}
	}
}

// checkViews holds what analysts read against the model.
func (h *withdrawals) checkViews(voters, votes, superseded int) {
	h.t.Helper()
	views := warehouse.ViewsDatabase(h.database)
	want := fmt.Sprint(votes, " ", voters, " ", superseded)
	got := env.Column(h.t, h.conn, fmt.Sprintf(`SELECT concat(
		toString((SELECT count() FROM %[1]s.ballots)), ' ',
		toString((SELECT max(unique_voters) FROM %[1]s.dao_participation)), ' ',
		toString((SELECT count() FROM %[1]s.superseded_ballots)))`, views))[0]
	env.Want(h.t, want, got, "ballots, voters and superseded ballots of the views")
}

func TestSupersededBallotsDoNotDisplaceOthersFromFirstPage(t *testing.T) {
	t.Parallel()
	w := open(t)
	early, late := at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")
	var records []record.Record
	for n := range 30 {
		records = append(records, ballot("p", "0xa", fmt.Sprintf("early-%d", n), "1", "1000", early))
	}
	records = append(records, ballot("p", "0xa", "late", "1", "1", late))
	for n := range 9 {
		records = append(records, ballot("p", fmt.Sprintf("0xb%d", n), fmt.Sprintf("b%d", n), "1", fmt.Sprint(10+n), early))
	}
	appendAll(t, w, records...)
	page := env.Must(pages.ListBallots(t.Context(), w, pages.BallotSource{Ref: ref("p").Hash()}, firstBallots(query.BallotsByPower, 3)))(t)
	if len(page) != 3 || page[0].VoterIdentity != "0xb8" || page[2].VotingPower != "16" {
		t.Errorf("got %+v, want the three most powerful of those whose ballots count", page)
	}
}

func TestViewsLeaveOutWithdrawnProposals(t *testing.T) {
	t.Parallel()
	opened, url := openURL(t)
	conn := raw(t, url)
	appendAll(t, opened,
		&record.Proposal{ProposalRef: ref("p0"), SourceID: "dao", Title: "kept"},
		&record.Proposal{ProposalRef: ref("p1"), SourceID: "dao", Title: "withdrawn", Withdrawn: true},
		ballot("p0", "0xa", "v0", "1", "1", at("2026-01-01T00:00:00Z")), ballot("p1", "0xb", "v1", "1", "1", at("2026-01-01T00:00:00Z")))
	states := make([]counts.ProposalState, 2)
	for n := range states {
		states[n] = counts.ProposalState{
			Ref: ref(proposalName(n)).Hash(), Key: governance.ProposalKey(proposalName(n)), Votes: 1, Power: decimal.Zero, Revision: 1,
			Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot}, CreatedAt: at("2026-01-01T00:00:00Z"), VotedIn: map[counts.Month]uint64{202601: 1},
		}
	}
	states[0].Undated = 3
	states[1].WithdrawnFrom, states[1].Identity.DAOID = "dao", ""
	writeStates(t, opened, states...)
	views := warehouse.ViewsDatabase(env.Column(t, conn, "SELECT currentDatabase()")[0])
	for view, want := range map[string]string{
		"proposals": "1", "vote_summaries": "1", "ballots": "1", "votes": "1", "voters": "1", "dao_voters": "1", "daos": "1",
		"dao_participation": "1", "dao_timelines": "3",
	} {
		env.Want(t, want, env.Column(t, conn, "SELECT toString(count()) FROM "+views+"."+view)[0], view, "rows")
	}
	got := env.Column(t, conn, "SELECT concat(metric, ' ', month, ' ', toString(value)) FROM "+views+".dao_timelines ORDER BY ALL")
	env.WantSame(t, "timelines", []string{"proposals_created 2026-01 1", "votes_cast 2026-01 1", "votes_cast undated 3"}, got)
}
