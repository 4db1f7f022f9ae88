package worker_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

const (
	harborToken    = "eip155:1:0x00000000000000000000000000000000000000aa"
	harborGovernor = "eip155:1:0x00000000000000000000000000000000000000bb"
)

func power(delegate, amount string, block uint64, at int) *record.DelegatePower {
	return &record.DelegatePower{
		Placed: record.Placed{Scope: harborToken, Block: block, At: inMinutes(at)}, Delegate: delegate, Power: decimal.RequireFromString(amount),
	}
}

func inMinutes(n int) *governance.Timestamp {
	stamp := governance.TimestampOf(time.Now().Add(time.Duration(n) * time.Minute).Truncate(time.Minute))
	return &stamp
}

func delegates(delegator, delegate string, block uint64) *record.Delegation {
	return &record.Delegation{
		Placed: record.Placed{Scope: harborToken, Block: block, At: inMinutes(-90)}, Delegator: delegator, Delegates: []string{delegate},
	}
}

// onGovernor is an open vote of the Governor that began 60 minutes ago.
func onGovernor(id string, end int) *record.Proposal {
	return &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Governor, ExternalID: harborGovernor + "/" + id}, SourceID: harborGovernor,
		Title: "Vote " + id, VoteType: governance.SingleChoice, Choices: []string{"For", "Against", "Abstain"}, State: "active",
		CreatedAt: inMinutes(-70), StartAt: inMinutes(-60), EndAt: inMinutes(end),
	}
}

func TestOpenVotesAreThoseWithPowerAndWithoutABallot(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	offChain := proposal("off chain")
	offChain.StartAt, offChain.EndAt, offChain.State = inMinutes(-60), inMinutes(30), "active"
	voted := &record.Ballot{
		Proposal: onGovernor("1", 0).ProposalRef, VoteID: "v", Voter: "0xd4", Power: decimal.NewFromInt(3), Choices: []string{"for"}, ChoiceKey: "for",
		RawChoice: `"for"`, VotedAt: inMinutes(-5),
	}
	h.append(
		&record.DAO{ID: "harbor", Name: "Harbor", Sources: []record.SourceRef{
			{Provider: governance.Governor, ID: harborGovernor}, {Provider: governance.Snapshot, ID: "dao.eth"},
		}},
		&record.Source{SourceRef: record.SourceRef{Provider: governance.Governor, ID: harborGovernor}, Token: harborToken},
		onGovernor("1", 60), onGovernor("2", 20), offChain, voted,
		power("0xd1", "5.5", 10, -80), power("0xd1", "9", 20, -30), power("0xd2", "7", 10, -80), power("0xd2", "0", 11, -70),
		power("0xd4", "3", 10, -80), delegates("0xa1", "0xd1", 9), delegates("0xa2", "0xd3", 9),
		&record.TokenSupply{Placed: record.Placed{Scope: harborToken, Block: 1}, Supply: decimal.NewFromInt(100)},
	)
	h.waitForVotes(governance.Identity{DAOID: "harbor", Provider: governance.Governor, ExternalID: harborGovernor + "/1"}.ProposalKey(), "1")
	h.waitForPublication()
	wantVotes := func(voter query.Voter, want ...string) {
		t.Helper()
		q := query.OpenVotes{Voter: voter}
		q.Limit = query.ShortPage
		waitForRows(h, q, func(row governance.OpenVote) string {
			amount, title := "?", "untitled"
			if row.Proposal.Title != nil { // its row is written after its state
				title = *row.Proposal.Title
			}
			if row.VotingPower != nil {
				amount = string(*row.VotingPower)
			}
			return fmt.Sprint(title, " ", amount, " ", row.PowerBasis, " ", row.AsDelegate)
		}, want...)
	}
	wantVotes("0xd1", "Vote 2 5.5 start true", "off chain ? unknown true", "Vote 1 5.5 start true")
	wantVotes("0xd3", "Vote 2 ? unknown true", "off chain ? unknown true", "Vote 1 ? unknown true")
	wantVotes("0xd4", "Vote 2 3 start false", "off chain ? unknown false")
	q := query.OpenVotes{Voter: "0xnobody"}
	q.Limit = query.ShortPage
	env.Until(t, func() error {
		_, _ = h.readView(q, nil) // requests the page
		view, _, err := h.store.Page(t.Context(), cache.NewPageRequest(q))
		if err == nil && !view.Absent {
			err = errors.New("got a page of nobody, want none")
		}
		return err
	})
	ranking := query.Delegates{DAOID: "harbor", Order: query.DelegatesByPower}
	ranking.Limit = query.ShortPage
	waitForRows(h, ranking, func(row governance.Delegate) string { return row.VoterIdentity }, "0xd1", "0xd4", "0xd3")
	asked := power("0x"+strings.Repeat("0", 40), "0", 21, -20) // its powers change without a log
	asked.LogIndex = math.MaxUint32
	h.append(asked)
	wantVotes("0xd1", "Vote 2 ? unknown true", "off chain ? unknown true", "Vote 1 ? unknown true")
}

// powerBook is what is stated of the powers and the supply of a token.
type powerBook struct {
	*harness
	conn     driver.Conn
	powers   map[record.Key]record.DelegatePower
	supplies map[record.Key]record.TokenSupply
}

func newPowerBook(t *testing.T) *powerBook {
	t.Helper()
	h := newHarness(t)
	return &powerBook{h, env.ConnectWarehouse(t, h.url), map[record.Key]record.DelegatePower{}, map[record.Key]record.TokenSupply{}}
}

func (b *powerBook) state(records ...record.Record) {
	b.t.Helper()
	for _, r := range records {
		switch r := r.(type) {
		case *record.DelegatePower:
			b.powers[r.Key()] = *r
		case *record.TokenSupply:
			b.supplies[r.Key()] = *r
		}
	}
	b.append(records...)
}

// held is the power of a delegate from a log on. A hash tells a block from one that replaces it.
func held(delegate string, power int64, block uint64, log uint32, hash byte) *record.DelegatePower {
	return &record.DelegatePower{
		Placed: record.Placed{
			Scope: harborToken, Block: block, LogIndex: log, BlockHash: strings.Repeat(fmt.Sprintf("%02x", hash), 32), At: blockTime(block),
		}, Delegate: delegate, Power: decimal.NewFromInt(power),
	}
}

func supplied(supply int64, block uint64) *record.TokenSupply {
	return &record.TokenSupply{Placed: record.Placed{Scope: harborToken, Block: block, At: blockTime(block)}, Supply: decimal.NewFromInt(supply)}
}

func blockTime(block uint64) *governance.Timestamp {
	at := hour(-900) + governance.Timestamp(block*12)
	return &at
}

// firstTen ranks the delegates after a block by everything that is stated.
func (b *powerBook) firstTen(block uint64) (first []string, powers map[string]decimal.Decimal) {
	latest := map[string]record.DelegatePower{}
	for _, p := range b.powers {
		if other, is := latest[p.Delegate]; !p.Withdrawn && p.Block <= block &&
			(!is || cmp.Or(cmp.Compare(p.Block, other.Block), cmp.Compare(p.LogIndex, other.LogIndex)) > 0) {
			latest[p.Delegate] = p
		}
	}
	powers = map[string]decimal.Decimal{}
	for delegate, p := range latest {
		if powers[delegate] = p.Power; p.Power.IsPositive() {
			first = append(first, delegate)
		}
	}
	slices.SortFunc(first, func(x, y string) int { return cmp.Or(powers[y].Cmp(powers[x]), cmp.Compare(x, y)) })
	return first[:min(10, len(first))], powers
}

// moves recounts what is to be said, block by block.
func (b *powerBook) moves() (moves []string) {
	blocks := map[uint64]bool{}
	for _, p := range b.powers {
		if !p.Withdrawn {
			blocks[p.Block] = true
		}
	}
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		was, before := b.firstTen(block - 1)
		is, after := b.firstTen(block)
		supply, from := decimal.Zero, uint64(0)
		for _, s := range b.supplies {
			if !s.Withdrawn && s.Block <= block && s.Block >= from {
				supply, from = s.Supply, s.Block
			}
		}
		for _, delegate := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(was), is...)))) {
			change := ""
			switch difference := after[delegate].Sub(before[delegate]).Abs(); {
			case !slices.Contains(was, delegate):
				change = "entered"
			case !slices.Contains(is, delegate):
				change = "left"
			case supply.IsPositive() && difference.Mul(decimal.NewFromInt(100)).GreaterThan(supply):
				change = "moved"
			}
			share := ""
			if supply.IsPositive() {
				quotient, _ := after[delegate].QuoRem(supply, 6)
				share = quotient.String()
			}
			if change != "" {
				moves = append(moves, fmt.Sprintf("%d %s %s %s %s %s", block, delegate, change, before[delegate], after[delegate], share))
			}
		}
	}
	return moves
}

func (b *powerBook) told(daoID string) []string {
	const sql = "SELECT concat(JSONExtractString(evidence, 'block'), ' ', JSONExtractString(evidence, 'delegate'), ' ', " +
		"JSONExtractString(evidence, 'change'), ' ', JSONExtractString(evidence, 'powerBefore'), ' ', JSONExtractString(evidence, 'powerAfter'), ' ', " +
		"JSONExtractString(evidence, 'shareOfSupply')) FROM feed_signals FINAL WHERE dao_id = ? AND signal_type = 'delegate_power_shift' " +
		"ORDER BY toUInt64(JSONExtractString(evidence, 'block')), JSONExtractString(evidence, 'delegate')"
	return env.Column(b.t, b.conn, sql, daoID)
}

func (b *powerBook) stored() []string {
	return env.Column(b.t, b.conn, "SELECT row FROM (SELECT toString(tuple(* EXCEPT (revision))) AS row FROM feed_events FINAL WHERE event_type = 'delegate_moved' "+
		"UNION ALL SELECT toString(tuple(* EXCEPT (revision))) AS row FROM feed_signals FINAL WHERE signal_type = 'delegate_power_shift') ORDER BY row")
}

func (b *powerBook) waitForMoves(step string, daoIDs ...string) {
	b.t.Helper()
	want := b.moves()
	env.Until(b.t, func() error {
		for _, daoID := range daoIDs {
			if diff := gocmp.Diff(append([]string{}, want...), append([]string{}, b.told(daoID)...)); diff != "" {
				return fmt.Errorf("%s, %s (-want +got):\n%s", step, daoID, diff)
			}
		}
		return nil
	})
	events := env.Column(b.t, b.conn, "SELECT toString(count()) FROM feed_events FINAL WHERE event_type = 'delegate_moved' AND basis = 'eventTime'")
	if events[0] != fmt.Sprint(len(want)*len(daoIDs)) {
		b.t.Errorf("%s: got %s events, want one for each of %d moves a DAO", step, events[0], len(want))
	}
}

func harbor(id string, tokens ...string) *record.DAO {
	return &record.DAO{ID: id, Name: "DAO " + id, Tokens: tokens, Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: id + ".eth"}}}
}

func TestMovesOfTheFirstDelegatesAreTold(t *testing.T) {
	t.Parallel()
	b := newPowerBook(t)
	b.startFiller()
	stop := b.startLeader(nil)
	b.state(harbor("harbor", harborToken))
	var first []record.Record
	for n := range 12 {
		first = append(first, held(fmt.Sprintf("0xd%02d", n), int64(100-n), 10+uint64(n), 1, 1))
	}
	b.state(first...)
	b.waitForMoves("ten enter", "harbor")

	b.state(held("0xd11", 200, 40, 1, 1), held("0xd09", 95, 40, 2, 1), held("0xd09", 92, 40, 3, 1))
	b.waitForMoves("one enters, another leaves, and what is undone in a block is not told", "harbor")
	b.state(held("0xd00", 500, 60, 1, 1))
	b.waitForMoves("nothing is said of a part of a supply that is not known", "harbor")
	b.state(supplied(1000, 50))
	b.waitForMoves("the supply is known later", "harbor")
	b.state(held("0xd00", 510, 70, 1, 1), held("0xd01", 110, 70, 2, 1))
	b.waitForMoves("just one percent is no move", "harbor")

	b.state(held("0xd50", 600, 60_000, 1, 1))
	b.waitForMoves("a newcomer", "harbor")
	gone := held("0xd50", 600, 60_000, 1, 1)
	gone.Withdrawn = true
	b.state(gone, held("0xd51", 300, 60_000, 1, 2))
	b.waitForMoves("the block is replaced", "harbor")
	gone = held("0xd51", 300, 60_000, 1, 2)
	gone.Withdrawn = true
	b.state(gone)
	b.waitForMoves("the block is withdrawn", "harbor")
	b.state(harbor("port", harborToken))
	b.waitForMoves("another DAO uses the token", "harbor", "port")
	b.state(harbor("harbor"))
	env.Until(t, func() error { return differs(b.told("harbor")) })
	b.waitForMoves("one DAO does not use it any more", "port")
	b.state(harbor("harbor", harborToken))

	random := rand.New(rand.NewPCG(43, 10))
	for step := range 7 {
		var records []record.Record
		for log := range 1 + random.IntN(12) {
			block := uint64(step)*15_000 + 1 + uint64(random.IntN(30_000))
			if random.IntN(4) == 0 {
				block = uint64(step)*15_000 + 1
			}
			records = append(records, held(fmt.Sprintf("0xd%02d", random.IntN(16)), int64(random.IntN(8))*30, block, uint32(step*100+log), 1))
		}
		if all := slices.SortedFunc(maps.Values(b.powers), func(x, y record.DelegatePower) int { return cmp.Compare(fmt.Sprint(x.Key()), fmt.Sprint(y.Key())) }); step%3 == 2 {
			p := all[random.IntN(len(all))]
			p.Withdrawn = true
			records = append(records, &p)
		}
		if step%4 == 1 {
			records = append(records, supplied(int64(1+random.IntN(4))*1500, uint64(random.IntN(100_000))))
		}
		b.state(records...)
		b.waitForMoves(fmt.Sprint("random step ", step), "harbor", "port")
	}
	ids := env.Column(t, b.conn, "SELECT toString(count() - uniqExact(event_id)) FROM feed_events FINAL WHERE event_type = 'delegate_moved' AND basis = 'eventTime'")
	if live := b.stored(); len(live) < 100 || ids[0] != "0" {
		t.Errorf("got %d rows, with %s equal ids", len(live), ids[0])
	}

	live := b.stored()
	stop()
	for _, table := range []string{"feed_events", "feed_signals", "feed_progress"} {
		env.MustDo(t, b.conn.Exec(t.Context(), "TRUNCATE TABLE "+table))
	}
	b.startLeader(nil)
	b.waitForMoves("from nothing", "harbor", "port")
	env.Until(t, func() error {
		if diff := gocmp.Diff(live, b.stored()); diff != "" {
			return errors.New("live and from nothing differ (-live +from nothing):\n" + diff)
		}
		return nil
	})
}

func TestMovesOfDelegatesAreListed(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	h.append(harbor("harbor", harborToken), supplied(1000, 1), held("0xd1", 125, 10, 1, 1), held("0xd1", 0, 20, 1, 1))
	env.Until(t, func() error {
		var rows []governance.EventRow
		if err := h.readFeedPage(anyTimeEvents("harbor"), &rows); err != nil {
			return err
		}
		got := []string{}
		for _, row := range rows {
			if row.EventTimeMs != *blockTime(20) && row.EventTimeMs != *blockTime(10) || row.ItemType != governance.DAOItem || row.ProposalKey != nil {
				return fmt.Errorf("got %+v", row)
			}
			got = append(got, fmt.Sprint(row.EventType, " ", row.EventTimeConfidence, " ", row.ImportanceScore, " ", *row.Title))
		}
		return differs(got,
			"delegate_moved exact 40 Delegate 0xd1 left the first ten: 125 before, 0 after, 0 of the supply ("+harborToken+")",
			"delegate_moved exact 40 Delegate 0xd1 entered the first ten: 0 before, 125 after, 0.125 of the supply ("+harborToken+")")
	})
	env.Until(t, func() error {
		rows, err := h.signals("harbor")
		got := []string{}
		for _, row := range rows {
			got = append(got, fmt.Sprint(row.Title, ": ", row.Summary, " ", row.Priority.Score, " ", row.Actionability))
		}
		return errors.Join(err, differs(got,
			"DAO harbor · Delegate 0xd1 left the first ten: Its power was 125 before the block and is 0 after it. 71 monitor",
			"DAO harbor · Delegate 0xd1 entered the first ten: Its power was 0 before the block and is 125 after it. 71 monitor"))
	})
}

func differs(got []string, want ...string) error {
	if diff := gocmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		return fmt.Errorf("(-want +got):\n%s", diff)
	}
	return nil
}
