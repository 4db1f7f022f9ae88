package fill

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

const (
	manifestTTL = time.Second
	// sharedExportTTL is how long callers get the same export of an open vote. Its copy is kept for
	// cache.ExportTTL.
	sharedExportTTL = 10 * time.Minute
)

// exportFormat is part of every revision. It rises when the bytes of a row change.
const exportFormat = "2"

type exported struct {
	governance.ProposalRow
	ref     record.RefHash
	choices voteChoices
	summary governance.VoteSummary
}

func (e exported) isClosed() bool { return e.LifecycleStatus == governance.Closed }

// exported reads the proposal of an export. The error is errAbsent if it is not published.
func (p *page) exported(ctx context.Context, key governance.ProposalKey) (exported, cache.Version, error) {
	version, there, err := p.version(ctx, query.Ballots{Proposal: key}.Scope())
	if err != nil || !there {
		return exported{}, version, cmp.Or(err, errAbsent)
	}
	detail, err := p.proposalDetail(ctx, key)
	if err != nil {
		return exported{}, version, err
	}
	ref := record.ProposalRef{Provider: detail.Identity.Provider, ExternalID: detail.Identity.ExternalID}
	return exported{ProposalRow: detail, ref: ref.Hash(), choices: choicesOf(detail.Choices, detail.Bounds)}, version, nil
}

// ballotExport builds a manifest without its parts, of a large proposal from its sorted copy.
func (p *page) ballotExport(ctx context.Context, q query.BallotExport) (any, error) {
	if err := p.setPublishedHead(ctx, manifestTTL); err != nil {
		return nil, err
	}
	of, version, err := p.exported(ctx, q.Proposal)
	if err != nil {
		return nil, err
	}
	if of.summary, err = p.setBallotCoverage(ctx, q.Proposal); err != nil {
		return nil, err
	}
	published, err := pages.PublishedBallotsOf(ctx, p.Warehouse, of.ref, of.ProposalKey)
	if err != nil {
		return nil, err
	}
	if published.Votes < pages.SortedCopyThreshold {
		return p.smallExport(ctx, of)
	}
	generation, err := p.chooseCopy(ctx, of, published.Generation)
	if err != nil {
		return nil, err
	}
	if generation == 0 || generation != version.Generation {
		p.head.Revision-- // stale after manifestTTL: no publication tells that the next copy is there
	}
	copied, err := pages.CountCopiedBallots(ctx, p.Warehouse, generation)
	if err != nil || copied.Votes == 0 {
		return nil, cmp.Or(err, errWithheld) // the copy is not there yet, or was just replaced
	}
	return of.manifest(of.copyRevision(generation), copied.Votes, copied.Power, generation == version.Generation), nil
}

// manifest describes the ballots of a revision. isCurrent is false for a copy older than the published result.
func (e exported) manifest(revision string, votes uint64, power decimal.Decimal, isCurrent bool) governance.BallotExport {
	return governance.BallotExport{
		ProposalKey: e.ProposalKey, Revision: revision, Votes: governance.CountOf(votes), VotingPower: governance.DecimalOf(power),
		Basis: e.summary.Basis, Totals: e.summary.Totals, Flagged: e.Flagged,
		Final: isCurrent && e.isClosed() && e.summary.CoverageStatus == governance.Complete,
	}
}

// chooseCopy returns the sorted copy to export, and keeps it: the current one, or of an open vote a recent one.
func (p *page) chooseCopy(ctx context.Context, of exported, current uint64) (uint64, error) {
	exports, err := p.Store.Exports(ctx)
	if err != nil || current == 0 {
		return 0, err
	}
	for _, other := range slices.Backward(exports) {
		if other.Proposal == of.ProposalKey && !of.isClosed() && time.Since(other.Begun) < sharedExportTTL {
			return other.Generation, nil
		}
	}
	return current, p.Store.KeepExport(ctx, of.ProposalKey, current)
}

// isExported reports whether a sorted copy is the proposal's current one, or is kept for exports.
func (p *page) isExported(ctx context.Context, of exported, generation uint64) (bool, error) {
	exports, err := p.Store.Exports(ctx)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(exports, func(e cache.Export) bool { return e.Proposal == of.ProposalKey && e.Generation == generation }) {
		return true, nil
	}
	published, err := pages.PublishedBallotsOf(ctx, p.Warehouse, of.ref, of.ProposalKey)
	return published.Generation == generation, err
}

const copyMark = "c"

// copyRevision names the ballots of a sorted copy with the labels that they have at present.
func (e exported) copyRevision(generation uint64) string {
	text := fmt.Appendf([]byte(exportFormat), "%v", e.choices.bounds)
	for _, key := range slices.Sorted(maps.Keys(e.choices.labels)) {
		text = fmt.Appendf(text, "%q%q", key, e.choices.labels[key])
	}
	return copyMark + strconv.FormatUint(generation, 36) + "-" + shortDigest(text, 9)
}

func generationOf(revision string) uint64 {
	number, isCopy := strings.CutPrefix(revision, copyMark)
	number, _, _ = strings.Cut(number, "-")
	generation, err := strconv.ParseUint(number, 36, 64)
	if !isCopy || err != nil {
		return 0
	}
	return generation
}

// smallExport exports ballots that are read at once: their bytes are what the revision names.
func (p *page) smallExport(ctx context.Context, of exported) (any, error) {
	rows, err := pages.ExportBallots(ctx, p.Warehouse, pages.BallotSource{Ref: of.ref}, 1, query.ExportRows+1)
	if err != nil {
		return nil, err
	}
	if len(rows) > query.ExportRows {
		p.head.Revision--
		return nil, errWithheld // the sorted copy is not there yet
	}
	revision, err := of.contentRevision(rows)
	if err != nil {
		return nil, err
	}
	power := decimal.Zero
	for _, row := range rows {
		one, err := decimal.NewFromString(string(row.VotingPower))
		if err != nil {
			return nil, fmt.Errorf("read the voting power of a ballot: %w", err)
		}
		power = power.Add(one)
	}
	return of.manifest(revision, uint64(len(rows)), power, true), nil
}

func (e exported) contentRevision(rows []pages.LatestBallot) (string, error) {
	var text bytes.Buffer
	err := writeBallots(&text, governance.ExportNDJSON, rows, e.choices)
	return "b" + shortDigest(text.Bytes(), 16), err
}

func writeBallots(w io.Writer, format governance.ExportFormat, rows []pages.LatestBallot, choices voteChoices) error {
	to := newRowWriter[governance.ExportedBallot](w, format)
	if format == governance.ExportCSV {
		// The order that the columns have had from the beginning.
		to = csvRows[governance.ExportedBallot](w, "voteId", "voterIdentity", "voterAddress", "choiceKey", "choice.label",
			"votingPower", "votedAt", "transactionHash", "reason", "invalid")
	}
	for chunk := range slices.Chunk(rows, query.LongPage) { // labels of all rows may be large
		for _, ballot := range ballotRows(chunk, choices) {
			if err := to.write(ballot.ExportedBallot); err != nil {
				return fmt.Errorf("write a ballot: %w", err)
			}
		}
	}
	if err := to.flush(); err != nil {
		return fmt.Errorf("write ballots: %w", err)
	}
	return nil
}

func shortDigest(text []byte, size int) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:size])
}

// ballotPart builds a part of an export. It is absent where the ballots of the revision cannot be read any more.
func (p *page) ballotPart(ctx context.Context, q query.BallotPart) (any, error) {
	of, version, err := p.exported(ctx, q.Proposal)
	p.head.Revision = version.Revision
	if err != nil {
		return nil, err
	}
	rows, err := p.exportedRows(ctx, of, q)
	if err != nil || len(rows) == 0 {
		return nil, cmp.Or(err, errAbsent)
	}
	return compressRows(q.Format, func(w io.Writer) error {
		return writeBallots(w, q.Format, rows, of.choices)
	})
}

// exportedRows reads the ballots of a part; none where they are not those that the revision names.
func (p *page) exportedRows(ctx context.Context, of exported, q query.BallotPart) ([]pages.LatestBallot, error) {
	at := pages.BallotSource{Ref: of.ref, Generation: generationOf(q.Revision)}
	if at.Generation != 0 {
		known, err := p.isExported(ctx, of, at.Generation)
		if err != nil || !known || q.Revision != of.copyRevision(at.Generation) {
			return nil, err
		}
		return pages.ExportBallots(ctx, p.Warehouse, at, q.Part, query.ExportRows)
	}
	if q.Part != 1 {
		return nil, nil
	}
	rows, err := pages.ExportBallots(ctx, p.Warehouse, at, q.Part, query.ExportRows+1)
	if err != nil {
		return nil, err
	}
	if revision, err := of.contentRevision(rows); err != nil || revision != q.Revision {
		return nil, err
	}
	return rows, nil
}
