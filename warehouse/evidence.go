package warehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// Evidence returns the analyses of proposals. A proposal without one is missing
// from the result.
func (w *Warehouse) Evidence(
	ctx context.Context, proposals []record.ProposalRef,
) (map[record.ProposalRef]record.Evidence, error) {
	wanted, err := identityTable(proposals)
	if err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(clickhouse.Context(ctx, clickhouse.WithExternalTable(wanted)), sqlText("evidence_by_proposal"))
	if err != nil {
		return nil, fmt.Errorf("read the evidence on %d proposals: %w", len(proposals), err)
	}
	defer rows.Close()
	found := map[record.ProposalRef]record.Evidence{}
	for rows.Next() {
		var e record.Evidence
		var provider string
		var generated time.Time
		if err := rows.Scan(&provider, &e.Proposal.ExternalID, &e.ArtifactVersion, &generated,
			&e.Dossier, &e.SourceRefs, &e.Warnings); err != nil {
			return nil, fmt.Errorf("read evidence: %w", err)
		}
		e.Proposal.Provider, e.GeneratedAt = governance.Provider(provider), governance.TimestampOf(generated)
		found[e.Proposal] = e
	}
	return found, rows.Err()
}

func identityTable(proposals []record.ProposalRef) (*ext.Table, error) {
	wanted, err := ext.NewTable("wanted_identities",
		ext.Column("provider", "String"), ext.Column("external_id", "String"))
	if err != nil {
		return nil, err
	}
	for _, ref := range proposals {
		if err := wanted.Append(string(ref.Provider), ref.ExternalID); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// Counterparts returns which proposals are the same at two providers, because one
// names the page of the other: those that any of refs is part of, or with nil all.
func (w *Warehouse) Counterparts(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash][]record.RefHash, error) {
	counterparts := map[record.RefHash][]record.RefHash{}
	if refs != nil {
		linked, err := w.haveLinks(ctx, refs)
		if err != nil || !linked {
			return counterparts, err
		}
	}
	rows, err := w.queryRefs(ctx, sqlText("counterpart"), refs, clickhouse.Named("every", refs == nil))
	if err != nil {
		return nil, fmt.Errorf("look for counterparts of proposals: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text [2]string
		if err := rows.Scan(&text[0], &text[1]); err != nil {
			return nil, fmt.Errorf("look for counterparts: %w", err)
		}
		one, other := record.RefHash([]byte(text[0])), record.RefHash([]byte(text[1]))
		counterparts[one] = append(counterparts[one], other)
		counterparts[other] = append(counterparts[other], one)
	}
	return counterparts, rows.Err()
}

// haveLinks says whether any of the proposals names another, or is named: nearly always
// none is, and finding that out takes a fraction of looking for pairs.
func (w *Warehouse) haveLinks(ctx context.Context, refs []record.RefHash) (linked bool, err error) {
	rows, err := w.queryRefs(ctx, sqlText("counterpart_any"), refs)
	found, err := collect(rows, err, "look for links of proposals", func(row scanner) (linked bool, err error) {
		err = row.Scan(&linked)
		return linked, err
	})
	return slices.Contains(found, true), err
}
