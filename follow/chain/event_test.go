package chain_test

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/follow/chain"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	governorAddress = "0x00000000000000000000000000000000000000aa"
	ada             = fake.Hex("0x00000000000000000000000000000000000000a1")
	bob             = fake.Hex("0x00000000000000000000000000000000000000b2")

	createdEvent   = "ProposalCreated(uint256,address,address[],uint256[],string[],bytes[],uint256,uint256,string)"
	votedEvent     = "VoteCast(address,uint256,uint8,uint256,string)"
	votedInParts   = "VoteCastWithParams(address,uint256,uint8,uint256,string,bytes)"
	votedAlpha     = "VoteCast(address,uint256,bool,uint256)"
	reducedEvent   = "VoteReduced(address,uint256,uint8,uint256)"
	overriddenVote = "OverrideVoteCast(address,uint256,uint8,uint256,string)"
)

// parts codes the power of a vote in parts: against, for, abstain.
func parts(against, inFavour, abstain int64) []byte {
	var all []byte
	for _, n := range []int64{against, inFavour, abstain} {
		all = append(all, big.NewInt(n).FillBytes(make([]byte, 16))...)
	}
	return all
}

func TestEveryEventIsKnownByItsTopic(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{
		"7d84a626", "c8df7ff2", "b8e13888", "e2babfba", "87785633", "9a2e42fd", "712ae138", "789cf55b", "de0cea2a", "541f725f",
		"6553d98d", "d92cc135", "b326c35b", "a3e9dc6f", "49549bd0", "0553476b", "08f74ea4", "bc7cd75a", "c2617efa",
	} {
		if !slices.ContainsFunc(chain.Topics(), func(topic string) bool { return strings.HasPrefix(topic, "0x"+prefix) }) {
			t.Errorf("no event has topic %s", prefix)
		}
	}
}

func TestTheNumberOfTopicsTellsWhichParametersAreIndexed(t *testing.T) {
	t.Parallel()
	for indexed := range 3 {
		l := fake.Emit(governorAddress, votedEvent, indexed, ada, uint64(7), uint64(1), uint64(500), "aye")
		got, err := chain.Parse(l.Topics, l.Data)
		want := chain.Parsed{Proposal: "7", Voter: string(ada), Text: "aye", Sides: [3]string{"", "500", ""}}
		if err != nil || got != want {
			t.Errorf("%d indexed: got %+v, %v, want %+v", indexed, got, err, want)
		}
	}
	for indexed := range 3 {
		l := fake.Emit(governorAddress, createdEvent, indexed, uint64(7), ada, nil, nil, nil, nil, uint64(10), uint64(20), "# Dredge")
		got, err := chain.Parse(l.Topics, l.Data)
		if err != nil || got.Proposal != "7" || got.Text != "# Dredge" {
			t.Errorf("%d indexed: got %+v, %v, want proposal 7", indexed, got, err)
		}
	}
}

func TestVotesOfEveryKindAreDecoded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		log  fake.Log
		want chain.Parsed
	}{
		"Alpha, in favour": {
			fake.Emit(governorAddress, votedAlpha, 0, ada, uint64(7), uint64(1), uint64(5)),
			chain.Parsed{Proposal: "7", Voter: string(ada), Sides: [3]string{"", "5", ""}},
		},
		"Alpha, against": {
			fake.Emit(governorAddress, votedAlpha, 0, ada, uint64(7), uint64(0), uint64(5)),
			chain.Parsed{Proposal: "7", Voter: string(ada), Sides: [3]string{"5", "", ""}},
		},
		"with params that are no parts": {
			fake.Emit(governorAddress, votedInParts, 1, ada, uint64(7), uint64(2), uint64(5), "", []byte{1}),
			chain.Parsed{Proposal: "7", Voter: string(ada), Sides: [3]string{"", "", "5"}},
		},
		"in parts": {
			fake.Emit(governorAddress, votedInParts, 1, ada, uint64(7), uint64(255), uint64(6), "", parts(1, 2, 3)),
			chain.Parsed{Proposal: "7", Voter: string(ada), Sides: [3]string{"1", "2", "3"}},
		},
		"a reason that is not UTF-8": {
			fake.Emit(governorAddress, votedEvent, 1, ada, uint64(7), uint64(0), uint64(5), "a\xffb"),
			chain.Parsed{Proposal: "7", Voter: string(ada), Text: "a\uFFFDb", Sides: [3]string{"5", "", ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, tt.want, env.Must(chain.Parse(tt.log.Topics, tt.log.Data))(t))
		})
	}
}

func TestAttackLogsThatAreNotCodedAsTheirEventAreRejected(t *testing.T) {
	t.Parallel()
	vote := fake.Emit(governorAddress, votedEvent, 1, ada, uint64(7), uint64(1), uint64(5), "aye")
	wide := "0x" + strings.Repeat("f", 64)
	for name, l := range map[string]fake.Log{
		"no topics":                {},
		"another event":            {Topics: []string{wide}, Data: "0x"},
		"no data":                  {Topics: vote.Topics, Data: "0x"},
		"data that is cut":         {Topics: vote.Topics, Data: vote.Data[:len(vote.Data)-64]},
		"an odd number of digits":  {Topics: vote.Topics, Data: vote.Data + "0"},
		"no hexadecimal":           {Topics: vote.Topics, Data: "0xzz"},
		"more topics than fields":  {Topics: []string{vote.Topics[0], wide, wide, wide, wide, wide, wide}, Data: "0x"},
		"a short topic":            {Topics: []string{vote.Topics[0], "0x01"}, Data: vote.Data},
		"an address that is wide":  {Topics: []string{vote.Topics[0], wide}, Data: vote.Data},
		"an offset beyond the end": {Topics: vote.Topics, Data: fake.Encode(uint64(7), uint64(1), uint64(5), uint64(1<<40))},
		"a huge offset":            {Topics: vote.Topics, Data: fake.Encode(uint64(7), uint64(1), uint64(5), fake.Hex(wide))},
		"a huge length":            {Topics: vote.Topics, Data: fake.Encode(uint64(7), uint64(1), uint64(5), uint64(128), fake.Hex(wide))},
		"support 3":                fake.Emit(governorAddress, votedEvent, 1, ada, uint64(7), uint64(3), uint64(5), ""),
		"support above a byte":     fake.Emit(governorAddress, votedEvent, 1, ada, uint64(7), uint64(257), uint64(5), ""),
		"parts of another length":  fake.Emit(governorAddress, votedInParts, 1, ada, uint64(7), uint64(255), uint64(5), "", []byte{1}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := chain.Parse(l.Topics, l.Data); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, l := range []fake.Log{
		fake.Emit(governorAddress, votedEvent, 1, ada, uint64(7), uint64(1), uint64(5), "aye"),
		fake.Emit(governorAddress, votedInParts, 1, ada, uint64(7), uint64(255), uint64(6), "", parts(1, 2, 3)),
		fake.Emit(governorAddress, createdEvent, 0, uint64(7), ada, nil, nil, nil, nil, uint64(10), uint64(20), "# Dredge"),
	} {
		f.Add(strings.Join(l.Topics, " "), l.Data)
	}
	f.Fuzz(func(t *testing.T, topics, data string) {
		got, err := chain.Parse(strings.Fields(topics), data)
		if err == nil && !bytes.Equal([]byte(got.Text), bytes.ToValidUTF8([]byte(got.Text), nil)) {
			t.Errorf("got the text %q, want UTF-8", got.Text)
		}
	})
}

func TestTheTitleIsTheFirstLineWithoutMarks(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"# Dredge\n\nBody": "Dredge", "### Dredge": "Dredge", "Dredge\nBody": "Dredge", "": "", "\nBody": "", "#\r\nBody": "",
	} {
		env.Want(t, want, chain.Title(description), description)
	}
}

const (
	updatedEvent      = "ProposalUpdated(uint256,address,address[],uint256[],string[],bytes[],string,string)"
	transactionsEvent = "ProposalTransactionsUpdated(uint256,address,address[],uint256[],string[],bytes[],string)"
	payee             = fake.Hex("0x00000000000000000000000000000000000000c3")
)

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
