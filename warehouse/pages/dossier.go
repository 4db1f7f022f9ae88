package pages

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// CountedBallot is a ballot that counts, as a dossier needs it.
type CountedBallot struct {
	// Voter is who cast it.
	Voter string
	// ChoiceKey is the key of the single choice; empty for a ballot of several.
	ChoiceKey string
	// Choices are the choices that it names, Shares the power that each gets; Shares is empty where each gets all.
	Choices []string
	Shares  []governance.Units
	// Invalid is true if the ballot supports none of Choices; the warehouse does not tell.
	Invalid bool
	// Power is the voting power.
	Power governance.Units
	// VotedAt is nil where unknown; of VotedDayOnly only the day is known.
	VotedAt      *governance.Timestamp
	VotedDayOnly bool
}

// DossierBallots returns the ballots on each of some proposals that count, in any order: ClickHouse takes long to sort
// a large vote. Ballots of one choice share their Choices.
func DossierBallots(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash][]CountedBallot, error) {
	type row struct {
		ProposalRef, Voter, ChoiceKey, Power string
		Several, Shares                      []string
		VotedAt                              *governance.Timestamp
		VotedDayOnly                         bool
	}
	ballots, single := map[record.RefHash][]CountedBallot{}, map[string][]string{}
	rows, err := w.QueryRefs(ctx, sqlText("dossier_ballots"), refs)
	err = warehouse.EachRow(rows, err, "read the ballots of dossiers", func(r row) error {
		b := CountedBallot{
			Voter: r.Voter, ChoiceKey: r.ChoiceKey, Choices: r.Several, Power: governance.StoredUnits(r.Power), VotedAt: r.VotedAt,
			VotedDayOnly: r.VotedDayOnly,
		}
		if r.ChoiceKey != "" && len(r.Several) == 0 {
			choices, known := single[r.ChoiceKey]
			if !known {
				choices = []string{r.ChoiceKey}
				single[r.ChoiceKey] = choices
			}
			b.ChoiceKey, b.Choices = choices[0], choices
		}
		for _, share := range r.Shares {
			b.Shares = append(b.Shares, governance.StoredUnits(share))
		}
		ref := record.RefHash([]byte(r.ProposalRef))
		ballots[ref] = append(ballots[ref], b)
		return nil
	})
	return ballots, err
}

// Recasts are the casts on a proposal that later ones of the same voters replaced.
type Recasts struct {
	// Recasts is their number, SideChanges how many voters chose otherwise in them.
	Recasts, SideChanges uint64
}

// RecastsOf counts the recasts on each of some proposals.
func RecastsOf(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]Recasts, error) {
	type row struct {
		ProposalRef record.RefHash
		Recasts
	}
	rows, err := warehouse.FindRefs[row](ctx, w, "count the recasts of dossiers", sqlText("dossier_recasts"), refs)
	return warehouse.Keyed(rows, err, func(r row) (record.RefHash, Recasts) { return r.ProposalRef, r.Recasts })
}

// KnownProposal is a proposal that a dossier compares its own with.
type KnownProposal struct {
	// Ref and Key identify it, DAOID is its DAO.
	Ref   record.RefHash         `ch:"proposal_ref"`
	Key   governance.ProposalKey `ch:"proposal_key"`
	DAOID string
	// Title is empty if it has none, ProposerID if upstream states none.
	Title      string
	ProposerID string
	// Lifecycle and Outcome are where it stands.
	Lifecycle governance.Lifecycle
	Outcome   governance.Outcome
	// VoteReady says that Votes, the number of votes in the vote summary, is known.
	VoteReady bool
	Votes     uint64
	// CreatedAt, StartAt and EndAt are nil where unknown.
	CreatedAt, StartAt, EndAt *governance.Timestamp
	// Payload hashes the actions; 0 for none.
	Payload uint64
}

// KnownProposals returns the published proposals of DAOs and those that proposers made anywhere,
// without spam, in order of their ends.
func KnownProposals(ctx context.Context, w *warehouse.Warehouse, daoIDs, proposers []string) ([]KnownProposal, error) {
	return warehouse.Find[KnownProposal](ctx, w, "read the proposals beside dossiers", sqlText("dossier_proposals"),
		clickhouse.Named("daos", warehouse.NonNilTexts(daoIDs)), clickhouse.Named("proposers", warehouse.NonNilTexts(proposers)))
}

// StrongVoter is a voter with the power of all ballots on some proposals.
type StrongVoter struct {
	// Voter is the voter, Power the sum.
	Voter string
	Power decimal.Decimal
}

// strongest is how many strong voters a dossier names.
const strongest = 10

// fewVotes is how many votes, in all lists, are summed sooner than searched.
const fewVotes = 300_000

// StrongestVoters returns the ten voters with the most power over each list of proposals. Where the lists have many
// votes, the voters with the largest ballots tell what the tenth has at least, and this who can have as much: few.
func StrongestVoters(ctx context.Context, w *warehouse.Warehouse, lists [][]record.RefHash, votes uint64) ([][]StrongVoter, error) {
	mean := make([]decimal.Decimal, len(lists))
	if votes <= fewVotes {
		return strongestOf(ctx, w, lists, mean, "")
	}
	first, err := strongestOf(ctx, w, lists, mean, " AND voter GLOBAL IN ("+sqlText("dossier_strong_first")+")")
	if err != nil {
		return nil, err
	}
	for i, of := range first {
		if len(of) == strongest {
			mean[i], _ = of[strongest-1].Power.QuoRem(decimal.NewFromInt(int64(len(lists[i]))), governance.PowerScale)
		}
	}
	return strongestOf(ctx, w, lists, mean, " AND voter GLOBAL IN ("+sqlText("dossier_strong_others")+")")
}

// strongestOf returns the strongest of the voters that a condition selects.
func strongestOf(
	ctx context.Context, w *warehouse.Warehouse, lists [][]record.RefHash, mean []decimal.Decimal, candidates string,
) ([][]StrongVoter, error) {
	type listed struct {
		list int
		ref  record.RefHash
	}
	var all []listed
	for i, refs := range lists {
		for _, ref := range refs {
			all = append(all, listed{i, ref})
		}
	}
	found := make([][]StrongVoter, len(lists))
	if len(all) == 0 {
		return found, nil
	}
	table, err := warehouse.ExternalTable("wanted_lists", all, func(l listed) []any {
		return []any{uint32(l.list), string(l.ref[:]), mean[l.list].String()} //nolint:gosec // a set is small
	}, ext.Column("list", "UInt32"), ext.Column("proposal_ref", "FixedString(16)"), warehouse.TextColumn("mean"))
	result, err := w.QueryWith(ctx, table, err, fmt.Sprintf(sqlText("dossier_strongest"), countingBallots(
		"proposal_ref IN (SELECT proposal_ref FROM wanted_lists)"+candidates)), warehouse.BindUnknownTime())
	type row struct {
		List uint32
		StrongVoter
	}
	rows, err := warehouse.SelectRows[row](result, err, "rank the voters of dossiers")
	for _, r := range rows {
		found[r.List] = append(found[r.List], r.StrongVoter)
	}
	return found, err
}

// Moment is when the vote on a proposal of a DAO begins, or when it ended.
type Moment struct {
	Ref    record.RefHash
	DAOID  string
	At     governance.Timestamp
	Begins bool
	// Votes is the number of votes, where it is known.
	Votes uint64
}

// ReturningVoters counts the voters of each proposal that begins who have a ballot on a proposal of the same DAO that
// ended before.
func ReturningVoters(ctx context.Context, w *warehouse.Warehouse, moments []Moment) (map[record.RefHash]uint64, error) {
	table, err := warehouse.ExternalTable("wanted_moments", moments, func(m Moment) []any {
		return []any{string(m.Ref[:]), m.DAOID, int64(m.At), m.Begins}
	}, ext.Column("proposal_ref", "FixedString(16)"), warehouse.TextColumn("dao_id"), ext.Column("moment", "Int64"), ext.Column("begins", "Bool"))
	votes := map[bool]uint64{}
	for _, m := range moments {
		votes[m.Begins] += m.Votes
	}
	fewer := "begins" // these voters alone are read
	if votes[false] < votes[true] {
		fewer = "NOT begins"
	}
	result, err := w.QueryWith(ctx, table, err, fmt.Sprintf(sqlText("dossier_returning"), countingBallots(
		"proposal_ref IN (SELECT proposal_ref FROM wanted_moments) AND voter GLOBAL IN ("+
			"SELECT voter FROM ballots WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_moments WHERE "+fewer+"))")), warehouse.BindUnknownTime())
	type row struct {
		ProposalRef record.RefHash
		Voters      uint64
	}
	rows, err := warehouse.SelectRows[row](result, err, "count the returning voters of dossiers")
	return warehouse.Keyed(rows, err, func(r row) (record.RefHash, uint64) { return r.ProposalRef, r.Voters })
}

// LinkedTopic is a forum topic that is linked with a proposal.
type LinkedTopic struct {
	// ProposalRef is the proposal, TopicRef the topic.
	ProposalRef record.RefHash
	records.TopicRef
	// CreatedAt is when the topic was opened; nil where unknown.
	CreatedAt *governance.Timestamp
}

// LinkedTopics returns the topics that are linked with proposals.
func LinkedTopics(ctx context.Context, w *warehouse.Warehouse, of []record.RefHash) ([]LinkedTopic, error) {
	return warehouse.FindRefs[LinkedTopic](ctx, w, "find the topics of dossiers", sqlText("dossier_topics"), of)
}

// VotersOn returns, for each of some voters, the proposals among some that the voter voted on.
func VotersOn(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash, voters []string) (map[string][]record.RefHash, error) {
	type row struct {
		ProposalRef record.RefHash
		Voter       string
	}
	rows, err := warehouse.FindRefs[row](ctx, w, "read on what some addresses voted", sqlText("dossier_voters"), refs,
		clickhouse.Named("voters", warehouse.NonNilTexts(voters)))
	return warehouse.Grouped(rows, err, func(r row) (string, record.RefHash) { return r.Voter, r.ProposalRef })
}

// DelegatedPower is the power that the delegates of a token had at the snapshot of a vote.
type DelegatedPower struct {
	// Power is the sum. Silent delegates with SilentPower cast no ballot that counts.
	Power       decimal.Decimal
	Silent      uint64
	SilentPower decimal.Decimal
	// Gained and Lost are the sums of what delegates had more and less than when the proposal was created.
	Gained, Lost decimal.Decimal
	// Differing is the number of voters whose ballots have another power than the token states, Undated the
	// number of statements without a time. The sums are not all of the token unless both are 0.
	Differing, Undated uint64
	// Supply is the token's; nil if none is stored of a time before.
	Supply *decimal.Decimal
}

// DelegatedAt returns the power of a token's delegates at the snapshot of a vote.
func DelegatedAt(
	ctx context.Context, w *warehouse.Warehouse, token string, ref record.RefHash, created, snapshot governance.Timestamp,
) (of DelegatedPower, err error) {
	found, err := warehouse.FindRefs[DelegatedPower](ctx, w, "read the delegated power of a dossier",
		fmt.Sprintf(sqlText("dossier_delegated"), saysUnknown),
		[]record.RefHash{ref}, clickhouse.Named("token", token),
		clickhouse.Named("created", int64(created)), clickhouse.Named("snapshot", int64(snapshot)))
	if len(found) > 0 {
		of = found[0]
	}
	return of, err
}
