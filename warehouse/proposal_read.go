package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

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
	rows, err := w.queryRefs(ctx, sqlText("proposal_by_ref"), refs)
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
	p.CreatedAt, p.UpdatedAt = timestampOf(created), timestampOf(updated)
	p.StartAt, p.EndAt = timestampOf(start), timestampOf(end)
	p.ObservedAt = governance.TimestampOf(observed)
	for i, kind := range milestoneTypes {
		p.Milestones = append(p.Milestones, record.Milestone{
			Type: kind, At: timestampOf(milestoneTimes[i]), TxHash: milestoneHashes[i],
		})
	}
	return p, nil
}

// queryRefs runs a query over the external table "wanted_proposals".
func (w *Warehouse) queryRefs(
	ctx context.Context, sql string, refs []record.RefHash, args ...any,
) (driver.Rows, error) {
	wanted, err := refTable(refs)
	if err != nil {
		return nil, err
	}
	return w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), sql, args...)
}

// refTable is the external table "wanted_proposals".
func refTable(refs []record.RefHash) (*ext.Table, error) {
	wanted, err := ext.NewTable("wanted_proposals", ext.Column("proposal_ref", "FixedString(16)"))
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if err := wanted.Append(string(ref[:])); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}
