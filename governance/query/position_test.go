package query_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/check"
)

// ordered is a list in one of its orders.
type ordered struct {
	// order is the value of the parameter; empty for a list with one order.
	order string
	// got is the position of a row of the list, and want is what it should be.
	got, want any
}

// orders holds every order of every list, with the position of a row whose fields all
// differ.
func orders() map[string]ordered {
	earlier, later := governance.Timestamp(1000), governance.Timestamp(2000)
	ballot := governance.Ballot{ExportedBallot: governance.ExportedBallot{VoterIdentity: "0xa", VotingPower: "1.5", VotedAt: &earlier}}
	event := governance.EventRow{Event: governance.Event{EventID: "e1", EventTimeMs: earlier}, DiscoveredAt: later}
	signal := governance.SignalRow{
		Signal:     governance.Signal{SignalID: "s1", Priority: governance.Priority{Score: 70}, DeadlineAtMs: &later},
		DetectedAt: earlier,
	}
	topic := governance.ForumTopic{TopicKey: "t1_a", Replies: "7", CreatedAt: &earlier, UpdatedAt: &later}
	all := map[string]ordered{
		"daos": {got: query.DAOs{}.PositionOf(governance.DAOListItem{DAOID: "a"}), want: query.DAOPosition("a")},
		"voters": {
			got:  query.Voters{}.PositionOf(governance.DAOVoter{VoterIdentity: "0xa", TotalVotingPower: "9.25"}),
			want: query.VoterPosition{Power: "9.25", Voter: "0xa"},
		},
		"voter votes": {
			got: query.VoterVotes{}.PositionOf(
				governance.VoterVote{Proposal: governance.VotedProposal{ProposalKey: "p1_a"}, VotedAt: &earlier}),
			want: query.VoterVotePosition{At: &earlier, Proposal: "p1_a"},
		},
	}
	delegate := governance.Delegate{
		VoterIdentity: "0xa", DelegationScope: governance.ScopeOf("eip155:1:0xb"), VotingPower: new(governance.Decimal("2.5")),
		Delegators: new(governance.Decimal("7")), BallotsOfLast50: governance.BallotsOfLast{Cast: "3"},
	}
	for order, want := range map[query.DelegateOrder]governance.Decimal{
		query.DelegatesByPower: "2.5", query.DelegatesByDelegators: "7", query.DelegatesByActivity: "3",
	} {
		all["delegates "+string(order)] = ordered{
			string(order), query.Delegates{Order: order}.PositionOf(delegate), query.DelegatePosition{Value: &want, Delegate: "0xa", Where: "eip155:1:0xb"},
		}
	}
	all["delegations"] = ordered{
		got: query.VoterDelegations{}.PositionOf(governance.VoterDelegation{
			DelegationScope: governance.ScopeOf("eip155:1:0xb/s"), Delegator: "0xa", Delegate: "0xd", Since: &earlier,
		}),
		want: query.VoterDelegationPosition{Since: &earlier, Where: "eip155:1:0xb/s", Delegator: "0xa", Delegate: "0xd"},
	}
	all["open votes"] = ordered{
		got:  query.OpenVotes{}.PositionOf(governance.OpenVote{EndAt: &later, Proposal: governance.VotedProposal{ProposalKey: "p1_a"}}),
		want: query.OpenVotePosition{EndAt: &later, Proposal: "p1_a"},
	}
	for order, want := range map[query.BallotOrder]query.BallotPosition{
		query.BallotsByPower: {Power: "1.5", Voter: "0xa"},
		query.BallotsByTime:  {At: &earlier, Voter: "0xa"},
	} {
		all["ballots "+string(order)] = ordered{string(order), query.Ballots{Order: order}.PositionOf(ballot), want}
	}
	for basis, want := range map[query.EventTime]query.EventPosition{
		query.EventTimeOccurred:   {At: earlier, ID: "e1"},
		query.EventTimeDiscovered: {At: later, ID: "e1"},
	} {
		all["events "+string(basis)] = ordered{string(basis), query.Events{Basis: basis}.PositionOf(event), want}
	}
	for order, want := range map[query.SignalOrder]query.SignalPosition{
		query.SignalsByPriority:  {Score: 70, At: &earlier, ID: "s1"},
		query.SignalsByDetection: {Score: 70, At: &earlier, ID: "s1"},
		query.SignalsByDeadline:  {Score: 70, At: &later, ID: "s1"},
	} {
		all["signals "+string(order)] = ordered{string(order), query.Signals{Order: order}.PositionOf(signal), want}
	}
	for order, want := range map[query.TopicOrder]query.TopicPosition{
		query.TopicsByCreation: {At: &earlier, Key: "t1_a"},
		query.TopicsByReplies:  {Replies: 7, Key: "t1_a"},
		query.TopicsByUpdate:   {At: &later, Key: "t1_a"},
	} {
		all["topics "+string(order)] = ordered{string(order), query.Topics{Order: order}.PositionOf(topic), want}
	}
	return all
}

// Package warehouse makes the positions of proposals; its tests hold their orders.
func TestEveryOrderHasAPosition(t *testing.T) {
	t.Parallel()
	var tested []string
	for name, list := range orders() {
		if list.order != "" {
			tested = append(tested, list.order)
		}
		check.WantSame(t, name, list.want, list.got)
	}
	want := slices.Concat(
		query.Values(reflect.TypeFor[query.BallotOrder]()), query.Values(reflect.TypeFor[query.EventTime]()),
		query.Values(reflect.TypeFor[query.DelegateOrder]()),
		query.Values(reflect.TypeFor[query.SignalOrder]()), query.Values(reflect.TypeFor[query.TopicOrder]()))
	slices.Sort(want)
	slices.Sort(tested)
	check.WantSame(t, "orders that are tested", want, tested)
}

// wantSame compares a position with what a cursor returns of it.
func wantSame(t *testing.T, position any) {
	t.Helper()
	encoded := check.Must(msgpack.Marshal(position))(t)
	decoded := reflect.New(reflect.TypeOf(position))
	check.MustDo(t, msgpack.Unmarshal(encoded, decoded.Interface()))
	check.WantSame(t, "position after encoding and decoding", position, decoded.Elem().Interface())
}

// A time that is zero is not an unknown one, and a text may hold any bytes.
func FuzzPositionsSurviveACursor(f *testing.F) {
	f.Add(int64(0), int64(0), true, "")
	f.Add(int64(-1), int64(1<<62), false, "0xab\x00\xff")
	f.Fuzz(func(t *testing.T, number, milliseconds int64, timed bool, text string) {
		var at *governance.Timestamp
		if timed {
			at = new(governance.Timestamp(milliseconds))
		}
		for _, position := range []any{
			query.BallotPosition{Power: governance.Decimal(text), At: at, Voter: text},
			query.DAOPosition(text),
			query.DelegatePosition{Value: new(governance.Decimal(text)), Delegate: text, Where: text},
			query.OpenVotePosition{EndAt: at, Proposal: governance.ProposalKey(text)},
			query.VoterDelegationPosition{Since: at, Where: text, Delegator: text, Delegate: text},
			query.EventPosition{At: governance.Timestamp(milliseconds), ID: text},
			query.ProposalPosition{Band: number, At: at, Key: governance.ProposalKey(text)},
			query.SignalPosition{Score: number, At: at, ID: text},
			query.TopicPosition{Replies: number, At: at, Key: governance.TopicKey(text)},
			query.VoterPosition{Power: governance.Decimal(text), Voter: text},
			query.VoterVotePosition{At: at, Proposal: governance.ProposalKey(text)},
		} {
			wantSame(t, position)
		}
	})
}
