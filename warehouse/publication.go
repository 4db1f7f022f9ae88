package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// Proposal is a proposal as it is held.
type Proposal struct {
	record.Proposal
	Ref record.RefHash
	// ObservedAt is when this version was seen upstream.
	ObservedAt governance.Timestamp
}

// Proposals returns the proposals that refs name and the warehouse holds, in
// order of their references.
func (w *Warehouse) Proposals(ctx context.Context, refs []record.RefHash) ([]Proposal, error) {
	rows, err := w.queryRefs(ctx, query("proposals"), refs)
	if err != nil {
		return nil, fmt.Errorf("read %d proposals: %w", len(refs), err)
	}
	defer rows.Close()
	var proposals []Proposal
	for rows.Next() {
		p, err := scanProposal(rows)
		if err != nil {
			return nil, fmt.Errorf("read a proposal: %w", err)
		}
		proposals = append(proposals, p)
	}
	return proposals, rows.Err()
}

// scanner is what a row of a result can be read from.
type scanner interface{ Scan(dest ...any) error }

func scanProposal(rows scanner) (Proposal, error) {
	var p Proposal
	var ref, provider, voteType string
	var created, updated, start, end *time.Time
	var milestoneTypes, milestoneHashes []string
	var milestoneTimes []*time.Time
	var observed time.Time
	err := rows.Scan(&ref, &provider, &p.SourceID, &p.ExternalID, &p.Title, &p.Body, &p.ProposerID,
		&p.SourceURL, &p.DiscussionURL, &voteType, &p.State, &p.Choices,
		&p.QuorumRaw, &p.Quorum, &created, &updated, &start, &end,
		&p.StartDayOnly, &p.EndDayOnly, &p.StatedScores, &p.StatedScoresTotal,
		&p.StatedVotes, &p.Flagged, &p.UpstreamID, &p.UpstreamType, &p.UpstreamStatus,
		&milestoneTypes, &milestoneTimes, &milestoneHashes, &p.SnapshotURL, &observed)
	if err != nil {
		return Proposal{}, err
	}
	p.Ref = record.RefHash([]byte(ref))
	p.Provider, p.VoteType = governance.Provider(provider), governance.VoteType(voteType)
	p.CreatedAt, p.UpdatedAt = stampOf(created), stampOf(updated)
	p.StartAt, p.EndAt = stampOf(start), stampOf(end)
	p.ObservedAt = governance.TimestampOf(observed)
	for i, kind := range milestoneTypes {
		p.Milestones = append(p.Milestones, record.Milestone{
			Type: kind, At: stampOf(milestoneTimes[i]), TxHash: milestoneHashes[i],
		})
	}
	return p, nil
}

// Tally sums the ballots of one proposal that count: one a voter, the latest.
type Tally struct {
	Votes uint64
	Power decimal.Decimal
	// SupportingPower is the power of the ballots that support some choice.
	SupportingPower decimal.Decimal
	// Choices holds what each choice received, by key: the number of ballots that
	// support it, and the sum of the powers (or, of weighted ballots, the shares)
	// they give it.
	Choices map[string]governance.Score
	// RootSums are the sums of the square roots of the parts of weighted ballots.
	RootSums map[string]decimal.Decimal
	// LastVotedAt is the latest known time of a ballot.
	LastVotedAt *governance.Timestamp
	// Undated ballots have no time; DayOnly ones only a day; Rounded ones had more
	// decimal places upstream.
	Undated, DayOnly, Rounded uint64
	// VotedIn counts the ballots with a known time by the month of it.
	VotedIn map[Month]uint64
	// ObservedAt is when the newest of the ballots was seen.
	ObservedAt governance.Timestamp
	// Recast says that some voter voted more than once.
	Recast bool
}

// Tallies counts the ballots of the proposals that refs name. A proposal without
// ballots is missing from the result.
func (w *Warehouse) Tallies(ctx context.Context, refs []record.RefHash) (map[record.RefHash]Tally, error) {
	rows, err := w.queryRefs(ctx, query("tallies"), refs)
	if err != nil {
		return nil, fmt.Errorf("count the ballots of %d proposals: %w", len(refs), err)
	}
	defer rows.Close()
	tallies := map[record.RefHash]Tally{}
	for rows.Next() {
		ref, tally, err := scanTally(rows)
		if err != nil {
			return nil, fmt.Errorf("read a tally: %w", err)
		}
		tallies[ref] = tally
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count the ballots of %d proposals: %w", len(refs), err)
	}
	return tallies, w.markRecasts(ctx, tallies)
}

func scanTally(rows scanner) (record.RefHash, Tally, error) {
	t := Tally{Choices: map[string]governance.Score{}, RootSums: map[string]decimal.Decimal{}}
	var ref string
	var voteKeys, powerKeys, rootKeys []string
	var months []uint32
	var votes, counts []uint64
	var powers, roots []decimal.Decimal
	var last *time.Time
	var observed time.Time
	err := rows.Scan(&ref, &t.Votes, &t.Power, &t.SupportingPower,
		&voteKeys, &votes, &powerKeys, &powers, &rootKeys, &roots, &last, &t.Undated, &t.DayOnly, &t.Rounded,
		&months, &counts, &observed)
	if err != nil {
		return record.RefHash{}, Tally{}, err
	}
	t.VotedIn = byMonth(months, counts)
	for i, key := range voteKeys {
		t.Choices[key] = governance.Score{Votes: votes[i]}
	}
	for i, key := range powerKeys {
		t.Choices[key] = governance.Score{Votes: t.Choices[key].Votes, Power: powers[i]}
	}
	for i, key := range rootKeys {
		t.RootSums[key] = roots[i]
	}
	t.LastVotedAt, t.ObservedAt = stampOf(last), governance.TimestampOf(observed)
	return record.RefHash([]byte(ref)), t, nil
}

// Rankings returns the ranked ballots of the proposals that refs name, grouped
// by equal order of preference.
func (w *Warehouse) Rankings(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash][]governance.Ranking, error) {
	if len(refs) == 0 {
		return map[record.RefHash][]governance.Ranking{}, nil
	}
	rows, err := w.queryRefs(ctx, query("rankings"), refs)
	if err != nil {
		return nil, fmt.Errorf("read the ranked ballots of %d proposals: %w", len(refs), err)
	}
	defer rows.Close()
	rankings := map[record.RefHash][]governance.Ranking{}
	for rows.Next() {
		var ref string
		var r governance.Ranking
		if err := rows.Scan(&ref, &r.Choices, &r.Votes, &r.Power); err != nil {
			return nil, fmt.Errorf("read a ranking: %w", err)
		}
		hash := record.RefHash([]byte(ref))
		rankings[hash] = append(rankings[hash], r)
	}
	return rankings, rows.Err()
}

// queryRefs runs a query over the external table "wanted_proposals".
func (w *Warehouse) queryRefs(
	ctx context.Context, sql string, refs []record.RefHash, args ...any,
) (driver.Rows, error) {
	wanted, err := ext.NewTable("wanted_proposals", ext.Column("proposal_ref", "FixedString(16)"))
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if err := wanted.Append(string(ref[:])); err != nil {
			return nil, err
		}
	}
	return w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), sql, args...)
}
