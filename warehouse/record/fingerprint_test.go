package record_test

import (
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/shopspring/decimal"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// reflected is a ballot that msgpack encodes by reflection.
type reflected record.Ballot

// FuzzBallotFingerprint checks that the hand-written encoding of a ballot equals that by
// reflection: stored fingerprints come from both.
func FuzzBallotFingerprint(f *testing.F) {
	f.Add("snapshot", "0xab", "0x01", "0xvoter", int64(5), int32(-18), uint8(0), "", "1", int64(0), false, "", false)
	f.Add("tally", "1", "", "a", int64(-1), int32(40), uint8(3), "for", `"for"`, int64(1700000000000), true, "because", true)
	f.Add("", "", "", "", int64(0), int32(0), uint8(255), "ü", "{}", int64(-1), true, "\xff", true)
	f.Fuzz(func(t *testing.T, provider, id, vote, voter string, power int64, exponent int32, several uint8,
		key, raw string, votedAt int64, flag bool, reason string, withdrawn bool,
	) {
		b := record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Provider(provider), ExternalID: id}, VoteID: vote, Voter: voter,
			Power: decimal.New(power, exponent), PowerRounded: flag, ChoiceKey: key, RawChoice: raw,
			VotedDayOnly: !flag, TxHash: voter, Reason: reason, Withdrawn: withdrawn,
		}
		if votedAt != 0 {
			moment := governance.Timestamp(votedAt)
			b.VotedAt = &moment
		}
		for range several {
			b.Choices = append(b.Choices, key)
			b.Shares = append(b.Shares, b.Power)
			b.Roots = append(b.Roots, decimal.New(power, 0))
		}
		if flag && several == 0 {
			b.Choices, b.Shares, b.Roots = []string{}, []decimal.Decimal{}, []decimal.Decimal{}
		}
		checkFingerprint(t, &b)
	})
}

// checkFingerprint compares a fingerprint with the fingerprint of the encoding by reflection.
func checkFingerprint(t *testing.T, b *record.Ballot) {
	t.Helper()
	content, err := msgpack.Marshal((*reflected)(b))
	if err != nil {
		t.Fatal(err)
	}
	got, err := record.Fingerprint(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := xxhash.Sum64(content); got != want {
		t.Errorf("fingerprint of %+v: got %x, want %x", b, got, want)
	}
}

// A changed fingerprint would import every ballot again.
func TestBallotFingerprintIsStable(t *testing.T) {
	t.Parallel()

	moment := governance.Timestamp(1710679598000)
	b := record.Ballot{
		Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x97ec"}, VoteID: "0xad59", Voter: "0xfcd0",
		Power: decimal.RequireFromString("20.000000000000000000"), Choices: []string{"1", "2"}, ChoiceKey: "1",
		Shares: []decimal.Decimal{decimal.New(15, 0), decimal.New(5, 0)}, Roots: []decimal.Decimal{decimal.New(3, 0), decimal.New(2, 0)},
		RawChoice: `{"1":3,"2":1}`, VotedAt: &moment, Reason: "why not",
	}
	got, err := record.Fingerprint(&b)
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(15777819398257492300); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
