package chain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/follow/chain"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	updatedEvent      = "ProposalUpdated(uint256,address,address[],uint256[],string[],bytes[],string,string)"
	transactionsEvent = "ProposalTransactionsUpdated(uint256,address,address[],uint256[],string[],bytes[],string)"
	payee             = fake.Hex("0x00000000000000000000000000000000000000c3")
)

// stored is a log as it is kept.
func stored(block uint64, l fake.Log) records.ChainLog {
	return records.ChainLog{BlockNumber: block, TxHash: "0x7", LogIndex: 3, Topics: l.Topics, Data: l.Data, BlockHash: "0x1"}
}

// What a proposal executes is what its last log says: as Bravo states it, with signatures, or as
// OpenZeppelin does, without.
func TestActionsOfAProposal(t *testing.T) {
	t.Parallel()
	created := fake.Emit(governorAddress, createdEvent, 0, uint64(7), ada, fake.List{payee, bob}, fake.List{5, 0},
		fake.List{"", "grantRole(bytes32,address)"}, fake.List{[]byte{}, []byte{1, 2, 3}}, uint64(10), uint64(20), "a\xffb")
	action := func(block uint64, target fake.Hex, value, signature string, data ...byte) *record.Action {
		return &record.Action{
			Chain: "eip155:1", Target: string(target), Value: value, Signature: signature, Calldata: append([]byte{}, data...), Block: block,
			TxHash: "0x7", LogIndex: 3,
		}
	}
	first := []*record.Action{action(1, payee, "5", ""), action(1, bob, "0", "grantRole(bytes32,address)", 1, 2, 3)}
	replaced := []*record.Action{action(2, bob, "9", "", 4)}
	for name, test := range map[string]struct {
		logs []records.ChainLog
		want []*record.Action
		// unknown is true where the logs do not say.
		unknown bool
	}{
		"of its creation": {[]records.ChainLog{stored(1, created)}, first, false},
		"of an update": {[]records.ChainLog{stored(1, created), stored(2, fake.Emit(governorAddress, updatedEvent, 2, uint64(7), ada,
			fake.List{bob}, fake.List{9}, fake.List{""}, fake.List{[]byte{4}}, "text", "why"))}, replaced, false},
		"of an update of its transactions": {[]records.ChainLog{stored(1, created), stored(2, fake.Emit(governorAddress, transactionsEvent, 2,
			uint64(7), ada, fake.List{bob}, fake.List{9}, fake.List{""}, fake.List{[]byte{4}}, "why"))}, replaced, false},
		"none": {[]records.ChainLog{stored(1, fake.Emit(governorAddress, createdEvent, 0, uint64(7), ada, nil, nil, nil, nil, uint64(10),
			uint64(20), "text"))}, []*record.Action{}, false},
		"of columns with different lengths": {[]records.ChainLog{stored(1, fake.Emit(governorAddress, createdEvent, 0, uint64(7), ada,
			fake.List{bob}, nil, nil, nil, uint64(10), uint64(20), "text"))}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count, got := chain.ActionsOf(test.logs...)
			if diff := cmp.Diff(test.want, got); diff != "" || (count == nil) != test.unknown || count != nil && *count != uint64(len(test.want)) {
				t.Errorf("states %v; %s", count, diff)
			}
		})
	}
}

// A queued proposal states when it can be executed, and until when if the timelock forgets; each
// replacement of the actions is noted.
func TestTimesOfATimelock(t *testing.T) {
	t.Parallel()
	created := fake.Emit(governorAddress, createdEvent, 0, uint64(7), ada, fake.List{bob}, fake.List{5}, fake.List{""}, fake.List{[]byte{}},
		uint64(10), uint64(20), "text")
	changed := fake.Emit(governorAddress, transactionsEvent, 2, uint64(7), ada, fake.List{bob}, fake.List{9}, fake.List{""}, fake.List{[]byte{4}}, "why")
	queued := fake.Emit(governorAddress, "ProposalQueued(uint256,uint256)", 0, uint64(7), uint64(1_700_000_000))
	types := func(p *record.Proposal) (names []string, last int64) {
		for _, m := range p.Milestones {
			names, last = append(names, m.Type), int64(*m.At)
		}
		return names, last
	}
	got, last := types(chain.TimelockOf(86_400, stored(1, created), stored(2, changed), stored(3, changed), stored(4, queued)))
	if diff := cmp.Diff([]string{"actions_changed", "actions_changed", "queued", "executable", "expires"}, got); diff != "" || last != 1_700_086_400_000 {
		t.Errorf("until %d; %s", last, diff)
	}
	for _, grace := range []uint64{0, 1 << 39, 1<<64 - 1} {
		forever := chain.TimelockOf(grace, stored(1, created), stored(4, queued))
		if got, last = types(forever); len(got) != 2 || last != 1_700_000_000_000 || forever.VotingToken != "eip155:1:0x00000000000000000000000000000000000000bb" {
			t.Errorf("got %v until %d, voted with %s", got, last, forever.VotingToken)
		}
	}
}
