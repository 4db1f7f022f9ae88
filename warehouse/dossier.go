package warehouse

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// CountedBallot is a ballot that counts, as a dossier needs it.
type CountedBallot struct {
	// Voter is who cast it.
	Voter string
	// ChoiceKey is the key of the single choice; empty for a ballot of several.
	ChoiceKey string
	// Choices are the choices that it names, Shares the power that each gets; Shares is empty where each gets all.
	Choices []string
	Shares  []decimal.Decimal
	// Invalid is true if the ballot supports none of Choices; the warehouse does not tell.
	Invalid bool
	// Power is the voting power.
	Power decimal.Decimal
	// VotedAt is nil where unknown; of VotedDayOnly only the day is known.
	VotedAt      *governance.Timestamp
	VotedDayOnly bool
}

// DossierBallots returns the ballots on a proposal that count, the largest first, then in order of voter.
func (w *Warehouse) DossierBallots(ctx context.Context, ref record.RefHash) ([]CountedBallot, error) {
	rows, err := w.queryRefs(ctx, sqlText("dossier_ballots"), []record.RefHash{ref})
	return selectRows[CountedBallot](rows, err, "read the ballots of a dossier")
}

// Recasts returns how many casts on a proposal later ones of the same voters replaced, and how
// many voters chose otherwise in them.
func (w *Warehouse) Recasts(ctx context.Context, ref record.RefHash) (recasts, sideChanges uint64, err error) {
	type row struct{ Recasts, SideChanges uint64 }
	result, err := w.queryRefs(ctx, sqlText("dossier_recasts"), []record.RefHash{ref})
	rows, err := selectRows[row](result, err, "count the recasts of a dossier")
	if err != nil || len(rows) == 0 {
		return 0, 0, err
	}
	return rows[0].Recasts, rows[0].SideChanges, nil
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

// KnownProposals returns the published proposals of a DAO and a proposer's proposals anywhere,
// without spam, in order of their ends.
func (w *Warehouse) KnownProposals(ctx context.Context, daoID, proposer string) ([]KnownProposal, error) {
	rows, err := w.conn.Query(ctx, sqlText("dossier_proposals"), clickhouse.Named("dao", daoID), clickhouse.Named("proposer", proposer))
	return selectRows[KnownProposal](rows, err, "read the proposals beside a dossier")
}

// StrongVoter is a voter with the power of all ballots on some proposals.
type StrongVoter struct {
	// Voter is the voter, Power the sum.
	Voter string
	Power decimal.Decimal
}

// StrongestVoters returns the ten voters with the most power over some proposals.
func (w *Warehouse) StrongestVoters(ctx context.Context, refs []record.RefHash) ([]StrongVoter, error) {
	rows, err := w.queryRefs(ctx, sqlText("dossier_strongest"), refs)
	return selectRows[StrongVoter](rows, err, "rank the voters of a dossier")
}

// NewVoters counts the voters of a proposal without a ballot on any of some others.
func (w *Warehouse) NewVoters(ctx context.Context, ref record.RefHash, others []record.RefHash) (uint64, error) {
	rows, err := w.queryRefs(ctx, sqlText("dossier_new_voters"), others, clickhouse.Named("ref", hex.EncodeToString(ref[:])))
	found, err := selectRows[uint64](rows, err, "count the new voters of a dossier")
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}

// TopicsOf returns the forum topics that are linked with a proposal.
func (w *Warehouse) TopicsOf(ctx context.Context, ref record.RefHash) ([]Topic, error) {
	rows, err := w.queryRefs(ctx, sqlText("dossier_topics"), []record.RefHash{ref})
	refs, err := selectRows[TopicRef](rows, err, "find the topics of a dossier")
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	return w.Topics(ctx, refs)
}

// EarlierAction is an action of another proposal.
type EarlierAction struct {
	// ProposalKey is the key of the proposal.
	ProposalKey governance.ProposalKey
	record.Action
}

// EarlierActions returns actions of a DAO's executed proposals that were created before a time and
// call or name one of some addresses, the last proposals first, at most 500.
func (w *Warehouse) EarlierActions(
	ctx context.Context, daoID string, before *governance.Timestamp, addresses []string,
) ([]EarlierAction, error) {
	var packed []string
	for _, address := range addresses {
		packed = append(packed, strings.TrimPrefix(address, "0x"))
	}
	if before == nil || len(packed) == 0 {
		return nil, nil
	}
	rows, err := w.conn.Query(ctx, sqlText("dossier_earlier"), clickhouse.Named("dao", daoID), clickhouse.Named("before", int64(*before)),
		clickhouse.Named("addresses", addresses), clickhouse.Named("packed", packed))
	return selectRows[EarlierAction](rows, err, "read the earlier actions of a dossier")
}

// Discussion is when the first linked topic of a proposal was opened.
type Discussion struct {
	// ProposalRef is the proposal, OpenedAt when its first topic was opened.
	ProposalRef record.RefHash
	OpenedAt    governance.Timestamp
}

// Discussions returns when the first linked topics of proposals were opened.
func (w *Warehouse) Discussions(ctx context.Context, of []record.RefHash) ([]Discussion, error) {
	rows, err := w.queryRefs(ctx, sqlText("dossier_discussions"), of)
	return selectRows[Discussion](rows, err, "read the discussions beside a dossier")
}

// DelegatedPower is the power that the delegates of a token had at the snapshot of a vote.
type DelegatedPower struct {
	// Power is the sum. Silent delegates with SilentPower cast no ballot that counts.
	Power       decimal.Decimal
	Silent      uint64
	SilentPower decimal.Decimal
	// Gained and Lost are the sums of what delegates had more and less than when the proposal was created.
	Gained, Lost decimal.Decimal
	// Differing is the number of voters whose ballots have another power than the token states, Undated that of
	// statements without a time. The sums are not all of the token unless both are 0.
	Differing, Undated uint64
	// Supply is the token's; nil if none is stored of a time before.
	Supply *decimal.Decimal
}

// DelegatedAt returns the power of a token's delegates at the snapshot of a vote.
func DelegatedAt(
	ctx context.Context, w *Warehouse, token string, ref record.RefHash, created, snapshot governance.Timestamp,
) (of DelegatedPower, err error) {
	rows, err := w.queryRefs(ctx, sqlText("dossier_delegated"), []record.RefHash{ref}, clickhouse.Named("token", token),
		clickhouse.Named("created", int64(created)), clickhouse.Named("snapshot", int64(snapshot)))
	found, err := selectRows[DelegatedPower](rows, err, "read the delegated power of a dossier")
	if len(found) > 0 {
		of = found[0]
	}
	return of, err
}

// AddressHistory is what a DAO's votes know of an address.
type AddressHistory struct {
	// Address is in lower case. Ballots is on how many votes it cast some, Proposals how many proposals are its own.
	Address            string
	Ballots, Proposals uint64
}

// AddressHistories returns what a DAO's votes that ended and its proposals that were created before a time know of
// addresses, by address.
func AddressHistories(
	ctx context.Context, w *Warehouse, daoID string, before *governance.Timestamp, addresses []string,
) (map[string]AddressHistory, error) {
	found := map[string]AddressHistory{}
	if before == nil || len(addresses) == 0 {
		return found, nil
	}
	rows, err := w.conn.Query(ctx, sqlText("dossier_addresses"), clickhouse.Named("dao", daoID), clickhouse.Named("before", int64(*before)),
		clickhouse.Named("addresses", addresses))
	histories, err := selectRows[AddressHistory](rows, err, "read what a DAO knows of addresses")
	for _, h := range histories {
		found[h.Address] = h
	}
	return found, err
}
