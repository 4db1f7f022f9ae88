package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

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
	Voter string
	// Choices are the choices that it names, Shares the power that each gets; Shares is empty where each gets all.
	Choices []string
	Shares  []governance.Units
	// Form is how it states them.
	Form governance.ChoiceForm
	// Invalid is true if the ballot supports none of Choices; the warehouse does not tell.
	Invalid bool
	Power   governance.Units
	// VotedAt is nil where unknown; of VotedDayOnly only the day is known.
	VotedAt      *governance.Timestamp
	VotedDayOnly bool
}

// Casts are what was cast on a proposal.
type Casts struct {
	// Ballots are those that count, in order of their voters. Ballots of one choice share their Choices.
	Ballots []CountedBallot
	// Recasts is how many casts later ones of the same voters replaced, SideChanges how many voters chose otherwise in them.
	Recasts, SideChanges uint64
}

// castOfDossier is a cast as a dossier reads it. Power stays zero.
type castOfDossier struct {
	cast
	// Choice is the choice of one, Units the bytes of the power.
	Choice, Units   string
	Several, Shares []string
	VotedDayOnly    bool
}

// CastsOn returns what was cast on each of some proposals. Statements that choose the ballots that count take twice as long.
func CastsOn(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]*Casts, error) {
	found, single := map[record.RefHash]*Casts{}, map[string][]string{}
	var casts []castOfDossier // of one voter
	add := func() {
		of := found[casts[0].Ref]
		if of == nil {
			of = &Casts{}
			found[casts[0].Ref] = of
		}
		of.add(casts, single)
		casts = casts[:0]
	}
	err := warehouse.EachRow(ctx, w, "read the ballots of dossiers", sqlText("dossier_ballots"), func(c castOfDossier) error {
		if len(casts) > 0 && (c.VoterIdentity != casts[0].VoterIdentity || c.Ref != casts[0].Ref) {
			add()
		}
		casts = append(casts, c)
		return nil
	}, warehouse.RefTable(refs))
	if len(casts) > 0 {
		add()
	}
	return found, err
}

// add adds the casts of a voter. single has the Choices of ballots of one choice.
func (of *Casts) add(casts []castOfDossier, single map[string][]string) {
	current := make([]*cast, len(casts))
	for i := range casts {
		current[i] = &casts[i].cast
	}
	if current = latest(current); len(current) == 0 {
		return
	}
	of.Recasts += uint64(len(current)) - 1
	if slices.ContainsFunc(current, func(c *cast) bool { return c.RawChoice != current[0].RawChoice }) {
		of.SideChanges++
	}
	counts := chosen(current)[0]
	c := &casts[0]
	for i := range casts {
		if &casts[i].cast == counts {
			c = &casts[i]
		}
	}
	b := CountedBallot{
		Voter: c.VoterIdentity, Choices: c.Several, Form: governance.FormOf(c.RawChoice), Power: governance.StoredUnits(c.Units),
		VotedAt: c.VotedAt, VotedDayOnly: c.VotedDayOnly,
	}
	if c.Choice != "" && len(c.Several) == 0 {
		choices, known := single[c.Choice]
		if !known {
			choices = []string{c.Choice}
			single[c.Choice] = choices
		}
		b.Choices = choices
	}
	for _, share := range c.Shares {
		b.Shares = append(b.Shares, governance.StoredUnits(share))
	}
	of.Ballots = append(of.Ballots, b)
}

// KnownProposal is a proposal that a dossier compares its own with.
type KnownProposal struct {
	Ref   record.RefHash         `ch:"proposal_ref"`
	Key   governance.ProposalKey `ch:"proposal_key"`
	DAOID string
	// Title is empty if it has none, ProposerID if upstream states none.
	Title      string
	ProposerID string
	// Lifecycle and Outcome are where it stands. OutcomeAt is when upstream says that it was executed, canceled or expired;
	// nil where it does not say.
	Lifecycle governance.Lifecycle
	Outcome   governance.Outcome
	OutcomeAt *governance.Timestamp
	// VoteReady says that Votes, the number of votes in the vote summary, is known.
	VoteReady bool
	Votes     uint64
	Quality   []governance.QualityFlag // as published
	// CreatedAt, StartAt and EndAt are nil where unknown.
	CreatedAt, StartAt, EndAt *governance.Timestamp
	// Payload hashes the actions; 0 for none.
	Payload uint64
}

// KnownProposals returns the published proposals of DAOs and those that proposers made anywhere,
// without spam, in order of their ends.
func KnownProposals(ctx context.Context, w *warehouse.Warehouse, daoIDs, proposers []string) ([]KnownProposal, error) {
	known, err := warehouse.Find[KnownProposal](ctx, w, "read the proposals beside dossiers", sqlText("dossier_proposals"),
		clickhouse.Named("daos", warehouse.NonNilTexts(daoIDs)), clickhouse.Named("proposers", warehouse.NonNilTexts(proposers)))
	if err != nil || len(known) == 0 {
		return nil, err
	}
	type proposed struct {
		Title, ProposerID string
		Payload           uint64
		MilestoneTypes    []string
		MilestoneTimes    []*time.Time
	}
	refs := warehouse.Values(known, func(k KnownProposal) record.RefHash { return k.Ref })
	stated, err := warehouse.FindBy[record.RefHash, proposed](ctx, w, "read the records beside dossiers",
		sqlText("dossier_proposal_records"), warehouse.RefTable(refs))
	for i := range known {
		k := &known[i]
		of := stated[k.Ref]
		k.Title, k.ProposerID, k.Payload = cmp.Or(k.Title, of.Title), of.ProposerID, of.Payload
		for m, kind := range of.MilestoneTypes {
			if k.OutcomeAt == nil && k.Outcome != governance.Passed && kind != "defeated" && governance.OutcomeOfState(kind) == k.Outcome {
				k.OutcomeAt = governance.OptionalTimestamp(of.MilestoneTimes[m])
			}
		}
	}
	return known, err
}

// StrongVoter is a voter with the power of all ballots on some proposals.
type StrongVoter struct {
	Voter string
	Power decimal.Decimal // the sum
}

// strongest is how many strong voters a dossier names.
const strongest = 10

// fewVotes is how many votes, in all lists, are summed sooner than searched.
const fewVotes = 30_000

// StrongestVoters returns the ten voters with the most power over each list of proposals. Where the lists have many
// votes, the largest ballots on a proposal tell what the tenth voter has at least, and this who can have as much: few. If the
// tenth has less, because too many of these ballots do not count, the search is repeated with what it has.
func StrongestVoters(ctx context.Context, w *warehouse.Warehouse, lists [][]record.RefHash, votes uint64) ([][]StrongVoter, error) {
	var all []listedProposal
	for i, refs := range lists {
		for _, ref := range refs {
			all = append(all, listedProposal{list: i, ref: ref})
		}
	}
	if votes <= fewVotes {
		return strongestOf(ctx, w, len(lists), all, "")
	}
	powers, err := warehouse.FindBy[record.RefHash, decimal.Decimal](ctx, w, "read the largest ballots of dossiers",
		sqlText("dossier_strong_largest"), warehouse.RefTable(slices.Concat(lists...)))
	tenth, sum := make([]decimal.Decimal, len(lists)), make([]decimal.Decimal, len(lists))
	for _, l := range all {
		tenth[l.list], sum[l.list] = decimal.Max(tenth[l.list], powers[l.ref]), sum[l.list].Add(powers[l.ref])
	}
	for err == nil {
		for i, l := range all {
			if sum[l.list].IsPositive() { // the shares of a list come to what its tenth has
				all[i].least, _ = tenth[l.list].Mul(powers[l.ref]).QuoRem(sum[l.list], governance.PowerScale)
			}
		}
		found, failed := strongestOf(ctx, w, len(lists), all, " AND voter GLOBAL IN ("+sqlText("dossier_strong_others")+")")
		known := true
		for i := range found {
			has := decimal.Zero
			if len(found[i]) == strongest {
				has = found[i][strongest-1].Power
			}
			if has.LessThan(tenth[i]) {
				tenth[i], known = has, false
			}
		}
		if err = failed; known {
			return found, err
		}
	}
	return nil, err
}

// listedProposal is a proposal in a list. Who has a smaller ballot than least on each of the list is none of the strongest.
type listedProposal struct {
	list  int
	ref   record.RefHash
	least decimal.Decimal
}

// strongestOf returns the strongest of the voters that a condition selects, for each of so many lists.
func strongestOf(
	ctx context.Context, w *warehouse.Warehouse, lists int, all []listedProposal, candidates string,
) ([][]StrongVoter, error) {
	found := make([][]StrongVoter, lists)
	if len(all) == 0 {
		return found, nil
	}
	table := warehouse.ExternalTable("wanted_lists", all, func(l listedProposal) []any {
		return []any{uint32(l.list), string(l.ref[:]), l.least.String()} //nolint:gosec // a set is small
	}, ext.Column("list", "UInt32"), ext.Column("proposal_ref", "FixedString(16)"), warehouse.TextColumn("least"))
	counting := countingBallots("proposal_ref IN (SELECT proposal_ref FROM wanted_lists)" + candidates)
	byList, err := warehouse.FindGroups[uint32, StrongVoter](ctx, w, "rank the voters of dossiers",
		fmt.Sprintf(sqlText("dossier_strongest"), counting), table, warehouse.BindUnknownTime())
	for list, voters := range byList {
		found[list] = voters
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
	table := warehouse.ExternalTable("wanted_moments", moments, func(m Moment) []any {
		return []any{string(m.Ref[:]), m.DAOID, int64(m.At), m.Begins}
	}, ext.Column("proposal_ref", "FixedString(16)"), warehouse.TextColumn("dao_id"), ext.Column("moment", "Int64"), ext.Column("begins", "Bool"))
	votes := map[bool]uint64{}
	for _, m := range moments {
		votes[m.Begins] += m.Votes
	}
	fewer := votes[false] >= votes[true] // the voters of these alone are read
	return warehouse.FindBy[record.RefHash, uint64](ctx, w, "count the returning voters of dossiers",
		sqlText("dossier_returning"), table, clickhouse.Named("fewer", fewer))
}

// LinkedTopic is a forum topic that is linked with a proposal.
type LinkedTopic struct {
	ProposalRef record.RefHash
	records.TopicRef
	CreatedAt *governance.Timestamp // of the topic; nil where unknown
}

// LinkedTopics returns the topics that are linked with proposals.
func LinkedTopics(ctx context.Context, w *warehouse.Warehouse, of []record.RefHash) ([]LinkedTopic, error) {
	return warehouse.Find[LinkedTopic](ctx, w, "find the topics of dossiers", sqlText("dossier_topics"),
		warehouse.RefTable(of))
}

// VotersOn returns, for each of some voters, the proposals among some that the voter voted on.
func VotersOn(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash, voters []string) (map[string][]record.RefHash, error) {
	counting := countingBallots("proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND voter IN {voters:Array(String)}")
	return warehouse.FindGroups[string, record.RefHash](ctx, w, "read on what some addresses voted",
		fmt.Sprintf(sqlText("dossier_voters"), counting), warehouse.RefTable(refs),
		clickhouse.Named("voters", warehouse.NonNilTexts(voters)), warehouse.BindUnknownTime())
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
) (DelegatedPower, error) {
	return warehouse.FindOne[DelegatedPower](ctx, w, "read the delegated power of a dossier",
		fmt.Sprintf(sqlText("dossier_delegated"), saysUnknown),
		warehouse.RefTable([]record.RefHash{ref}), clickhouse.Named("token", token),
		clickhouse.Named("created", int64(created)), clickhouse.Named("snapshot", int64(snapshot)))
}
