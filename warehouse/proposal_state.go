package warehouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// ProposalState is what was worked out for a proposal at its last publication.
type ProposalState struct {
	Ref       record.RefHash
	Key       governance.ProposalKey
	Identity  governance.Identity
	SourceID  string
	Lifecycle governance.Lifecycle
	Outcome   governance.Outcome
	Coverage  governance.Coverage
	// VoteReady says whether the vote summary has numbers; Votes and Power are
	// its totals.
	VoteReady bool
	Votes     uint64
	Power     decimal.Decimal
	// Choices and Scores are the summary's choices and what each received.
	Choices []governance.Choice
	Scores  []governance.Score
	// VotedIn counts the ballots with a known time by the month of it.
	VotedIn map[Month]uint64

	CreatedAt, UpdatedAt, StartAt, EndAt, LastVotedAt *governance.Timestamp
	// NextChangeAt is when time alone will change the lifecycle; nil for never.
	NextChangeAt *governance.Timestamp
	QualityFlags []string
	Revision     uint64
}

// WriteProposalStates appends the states of one publication.
func (w *Warehouse) WriteProposalStates(ctx context.Context, states []ProposalState) error {
	insert, err := w.conn.PrepareBatch(ctx, sqlText("proposal_state_insert"))
	if err != nil {
		return fmt.Errorf("write %d proposal states: %w", len(states), err)
	}
	defer insert.Close()
	for _, s := range states {
		choices := splitChoices(s.Choices, s.Scores)
		months, counts := splitMonths(s.VotedIn)
		if err := insert.Append(
			string(s.Ref[:]), string(s.Key), s.Identity.DAOID, string(s.Identity.Provider), s.SourceID,
			s.Identity.ExternalID, string(s.Lifecycle), string(s.Outcome), string(s.Coverage),
			s.VoteReady, s.Votes, s.Power, choices.keys, choices.labels, choices.votes, choices.powers,
			months, counts,
			timeOrNull(s.CreatedAt), timeOrNull(s.UpdatedAt), timeOrNull(s.StartAt),
			timeOrNull(s.EndAt), timeOrNull(s.LastVotedAt), timeOrNull(s.NextChangeAt),
			nonNilTexts(s.QualityFlags), s.Revision,
		); err != nil {
			return fmt.Errorf("write the state of %s: %w", s.Key, err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("write %d proposal states: %w", len(states), err)
	}
	return nil
}

// choiceColumns holds the result by choice as the arrays that columns hold.
type choiceColumns struct {
	keys, labels []string
	votes        []uint64
	powers       []decimal.Decimal
}

func splitChoices(choices []governance.Choice, scores []governance.Score) choiceColumns {
	c := choiceColumns{keys: []string{}, labels: []string{}, votes: []uint64{}, powers: []decimal.Decimal{}}
	for i, score := range scores {
		c.keys, c.labels = append(c.keys, choices[i].Key), append(c.labels, choices[i].Label)
		c.votes, c.powers = append(c.votes, score.Votes), append(c.powers, score.Power)
	}
	return c
}

// AddQualityFlag adds a quality flag to what was last published of a proposal, and
// leaves its numbers as they are.
func (w *Warehouse) AddQualityFlag(
	ctx context.Context, ref record.RefHash, flag governance.QualityFlag, revision uint64,
) error {
	err := w.conn.Exec(ctx, sqlText("proposal_state_add_flag"), clickhouse.Named("flag", string(flag)),
		clickhouse.Named("revision", revision), clickhouse.Named("ref", hex.EncodeToString(ref[:])))
	if err != nil {
		return fmt.Errorf("flag a proposal %s: %w", flag, err)
	}
	return nil
}

// QualityFlags returns the flags of a published proposal.
func (w *Warehouse) QualityFlags(ctx context.Context, ref record.RefHash) ([]string, error) {
	var flags []string
	row := w.conn.QueryRow(ctx, sqlText("proposal_state_quality_flags"), clickhouse.Named("ref", hex.EncodeToString(ref[:])))
	if err := row.Scan(&flags); err != nil {
		return nil, fmt.Errorf("read quality flags: %w", err)
	}
	return flags, nil
}

// PublishedIdentities returns under which identity each of the proposals was last
// published; those never published are missing.
func (w *Warehouse) PublishedIdentities(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash]governance.Identity, error) {
	rows, err := w.queryRefs(ctx, sqlText("proposal_state_identities"), refs)
	if err != nil {
		return nil, fmt.Errorf("read published identities: %w", err)
	}
	defer rows.Close()
	identities := map[record.RefHash]governance.Identity{}
	for rows.Next() {
		var ref, provider string
		var identity governance.Identity
		if err := rows.Scan(&ref, &identity.DAOID, &provider, &identity.ExternalID); err != nil {
			return nil, fmt.Errorf("read published identities: %w", err)
		}
		identity.Provider = governance.Provider(provider)
		identities[record.RefHash([]byte(ref))] = identity
	}
	return identities, rows.Err()
}

// AllProposals returns the reference of every proposal held, in order.
func (w *Warehouse) AllProposals(ctx context.Context) ([]record.RefHash, error) {
	return w.selectRefs(ctx, "list proposals", sqlText("proposal_refs"))
}

// ProposalsDue returns the proposals whose lifecycle time alone has changed since
// they were last published.
func (w *Warehouse) ProposalsDue(ctx context.Context, now time.Time) ([]record.RefHash, error) {
	return w.selectRefs(ctx, "list proposals due", sqlText("proposal_state_due"), now.UnixMilli())
}

// ProposalsMoved returns the proposals of a source that were last published
// under another DAO than daoID.
func (w *Warehouse) ProposalsMoved(
	ctx context.Context, source record.SourceRef, daoID string,
) ([]record.RefHash, error) {
	return w.selectRefs(ctx, "list proposals moved", sqlText("proposal_state_moved"), string(source.Provider), source.ID, daoID)
}

func (w *Warehouse) selectRefs(ctx context.Context, what, sql string, args ...any) ([]record.RefHash, error) {
	rows, err := w.conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	var refs []record.RefHash
	for rows.Next() {
		var ref string
		if err := rows.Scan(&ref); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		refs = append(refs, record.RefHash([]byte(ref)))
	}
	return refs, rows.Err()
}

// DAOTotals sums what was published of a DAO's proposals.
type DAOTotals struct {
	Counts   governance.ProposalCounts
	Outcomes governance.Outcomes
	Votes    uint64
	Power    decimal.Decimal
	// Started proposals are those on which votes are expected; of these, Ready ones
	// have numbers, and Covered ones all the ballots that upstream has.
	Started, Ready, Covered uint64
	// CreatedAt and VotedAt are the latest of any proposal and ballot.
	CreatedAt, VotedAt *governance.Timestamp
	// CreatedIn counts the proposals by the month of their creation, VotedIn the
	// ballots by the month of theirs.
	CreatedIn, VotedIn map[Month]uint64
}

// Month is a month of a year, UTC, as the number YYYYMM.
type Month uint32

// DAOTotals sums the published states of every DAO. A DAO without proposals is
// missing from the result.
func (w *Warehouse) DAOTotals(ctx context.Context) (map[string]DAOTotals, error) {
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("dao_totals"), "proposal_states FINAL"))
	if err != nil {
		return nil, fmt.Errorf("sum DAOs: %w", err)
	}
	return scanTotals(rows)
}

// DAOTotalsOf is DAOTotals for some DAOs, and reads only theirs.
func (w *Warehouse) DAOTotalsOf(ctx context.Context, daoIDs []string) (map[string]DAOTotals, error) {
	rows, err := w.queryDAOs(ctx, fmt.Sprintf(sqlText("dao_totals"), sqlText("dao_totals_states")), daoIDs)
	if err != nil {
		return nil, fmt.Errorf("sum %d DAOs: %w", len(daoIDs), err)
	}
	return scanTotals(rows)
}

func scanTotals(rows driver.Rows) (map[string]DAOTotals, error) {
	defer rows.Close()
	totals := map[string]DAOTotals{}
	for rows.Next() {
		var id string
		var t DAOTotals
		var created, voted *time.Time
		var months, voteMonths []uint32
		var counts, voteCounts []uint64
		if err := rows.Scan(&id, &t.Counts.Total, &t.Counts.Active, &t.Counts.Pending, &t.Counts.Closed,
			&t.Outcomes.Passed, &t.Outcomes.Failed, &t.Outcomes.Executed, &t.Outcomes.Canceled, &t.Outcomes.Unknown,
			&t.Votes, &t.Power, &t.Started, &t.Ready, &t.Covered, &created, &voted, &months, &counts, &voteMonths, &voteCounts); err != nil {
			return nil, fmt.Errorf("sum a DAO: %w", err)
		}
		t.CreatedIn, t.VotedIn = byMonth(months, counts), byMonth(voteMonths, voteCounts)
		t.CreatedAt, t.VotedAt = timestampOf(created), timestampOf(voted)
		totals[id] = t
	}
	return totals, rows.Err()
}

// Participation is what the ballots of a DAO's published proposals say: who voted,
// and how often somebody voted on something.
type Participation struct {
	UniqueVoters uint64
	Votes        uint64
}

// splitMonths is the reverse of byMonth.
func splitMonths(found map[Month]uint64) (months []uint32, counts []uint64) {
	months, counts = []uint32{}, []uint64{}
	for _, month := range slices.Sorted(maps.Keys(found)) {
		months, counts = append(months, uint32(month)), append(counts, found[month])
	}
	return months, counts
}

func byMonth(months []uint32, counts []uint64) map[Month]uint64 {
	found := make(map[Month]uint64, len(months))
	for i, month := range months {
		found[Month(month)] = counts[i]
	}
	return found
}

// Participation counts the ballots of the DAOs. A DAO without ballots is missing
// from the result.
func (w *Warehouse) Participation(ctx context.Context, daoIDs []string) (map[string]Participation, error) {
	rows, err := w.queryDAOs(ctx, sqlText("dao_participation"), daoIDs)
	if err != nil {
		return nil, fmt.Errorf("count the voters of %d DAOs: %w", len(daoIDs), err)
	}
	defer rows.Close()
	found := map[string]Participation{}
	for rows.Next() {
		var id string
		var p Participation
		if err := rows.Scan(&id, &p.UniqueVoters, &p.Votes); err != nil {
			return nil, fmt.Errorf("count the voters of a DAO: %w", err)
		}
		found[id] = p
	}
	return found, rows.Err()
}

// queryDAOs runs a query over the external table "wanted_daos".
func (w *Warehouse) queryDAOs(ctx context.Context, sql string, daoIDs []string, args ...any) (driver.Rows, error) {
	wanted, err := ext.NewTable("wanted_daos", ext.Column("dao_id", "String"))
	if err != nil {
		return nil, err
	}
	for _, id := range daoIDs {
		if err := wanted.Append(id); err != nil {
			return nil, err
		}
	}
	return w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), sql, args...)
}
