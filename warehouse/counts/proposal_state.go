package counts

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ProposalState is what the last publication of a proposal computed: the numbers that
// its DAO's totals are sums of.
type ProposalState struct {
	Ref      record.RefHash         `ch:"proposal_ref"`
	Key      governance.ProposalKey `ch:"proposal_key"`
	Identity governance.Identity
	SourceID string // of the space or Governor that it belongs to
	// WithdrawnFrom is the DAO that a withdrawn proposal belongs to, whose Identity.DAOID is
	// empty, so that it is part of no DAO. It is empty for all others.
	WithdrawnFrom string
	// Lifecycle, Outcome and Coverage, which is of the ballots, are as the API shows them.
	Lifecycle governance.Lifecycle
	Outcome   governance.Outcome
	Coverage  governance.Coverage
	// VoteReady reports whether the vote summary has numbers.
	VoteReady bool
	Votes     uint64 // the number of ballots that are held
	Power     decimal.Decimal
	// Basis is the basis of the vote summary; empty where it has no numbers.
	Basis governance.Basis
	// TotalVotes, nil if unknown, and TotalPower are the totals in the vote summary.
	TotalVotes *uint64
	TotalPower decimal.Decimal
	// Settled reports whether the totals are final, provided that the vote is over.
	Settled bool
	Choices []governance.Choice `ch:"-"`
	// Bounds say which ballots are valid.
	Bounds governance.ChoiceBounds `ch:"-"`
	// Verdicts are what the choices mean for the outcome, in their order.
	Verdicts []string `ch:"-"`
	// Scores are the scores of the choices in the vote summary; nil where they are not known.
	Scores []governance.Score `ch:"-"`
	// HasChoiceVotes reports whether the votes of Scores are known.
	HasChoiceVotes bool `ch:"-"`
	// VotedIn counts the ballots by month, and Undated those that are in none as far as is known.
	VotedIn map[Month]uint64 `ch:"-"`
	Undated uint64
	// CreatedAt, UpdatedAt, StartAt and EndAt are the proposal's times, and LastVotedAt is
	// the latest known time of a ballot; nil where unknown.
	CreatedAt, UpdatedAt, StartAt, EndAt, LastVotedAt *governance.Timestamp
	// NextChangeAt is when the passing of time changes the lifecycle or UpdatedAt; nil for never.
	NextChangeAt  *governance.Timestamp
	QuorumReached *bool // in the vote summary; nil if unknown
	// BallotsObservedAt is when the import of the newest ballot began; nil for none.
	BallotsObservedAt *governance.Timestamp
	// StatedFingerprint is the hash of upstream's statement on the result; zero in states of earlier versions.
	StatedFingerprint uint64
	// Confirmed reports that the result is final and has every ballot, or is upstream's own.
	Confirmed bool
	// Flagged is true for spam, which counts in no sum, ranking, event or signal.
	Flagged      bool
	QualityFlags []string
	// DerivedTitle stands for the title that upstream does not state; empty where it does.
	DerivedTitle string
	Revision     uint64
}

// WriteProposalStates writes the states of one publication, in place of earlier revisions.
func WriteProposalStates(ctx context.Context, w *warehouse.Warehouse, states []ProposalState) error {
	rows := warehouse.Values(states, func(s ProposalState) []any {
		keys, labels, votes, powers := splitChoices(s)
		months, counts := splitMonths(s.VotedIn)
		return []any{
			string(s.Ref[:]), string(s.Key), s.Identity.DAOID, string(s.Identity.Provider), s.SourceID,
			s.Identity.ExternalID, string(s.Lifecycle), string(s.Outcome), string(s.Coverage),
			s.VoteReady, s.Votes, s.Power, keys, labels, votes, powers,
			months, counts,
			warehouse.TimeOrNull(s.CreatedAt), warehouse.TimeOrNull(s.UpdatedAt), warehouse.TimeOrNull(s.StartAt),
			warehouse.TimeOrNull(s.EndAt), warehouse.TimeOrNull(s.LastVotedAt), warehouse.TimeOrNull(s.NextChangeAt),
			warehouse.NonNilTexts(s.QualityFlags), s.WithdrawnFrom, string(s.Basis), s.TotalVotes, s.TotalPower, s.Settled,
			s.Flagged, s.DerivedTitle, s.Undated, uint16(s.Bounds.Least), uint16(s.Bounds.Most), string(s.Bounds.Form), warehouse.NonNilTexts(s.Verdicts), //nolint:gosec // at most 65,535 choices
			s.QuorumReached, warehouse.TimeOrNull(s.BallotsObservedAt), s.StatedFingerprint, s.Confirmed,
			len(s.Scores) > 0, len(s.Scores) > 0 && s.HasChoiceVotes, s.Revision,
		}
	})
	return warehouse.InsertRows(ctx, w, sqlText("proposal_state_insert"), fmt.Sprintf("write %d proposal states", len(states)), rows)
}

// splitChoices returns choices and scores as parallel arrays, the form of their columns. What is not known is zero.
func splitChoices(s ProposalState) (keys, labels []string, votes []uint64, powers []decimal.Decimal) {
	keys, labels, votes, powers = []string{}, []string{}, []uint64{}, []decimal.Decimal{}
	for i, choice := range s.Choices {
		var score governance.Score
		if len(s.Scores) > 0 {
			score = s.Scores[i]
		}
		if !s.HasChoiceVotes {
			score.Votes = 0
		}
		keys, labels = append(keys, choice.Key), append(labels, choice.Label)
		votes, powers = append(votes, score.Votes), append(powers, score.Power)
	}
	return keys, labels, votes, powers
}

// ChoiceColumns are the columns of the choices of a published proposal, and of what bounds the ballots on it.
type ChoiceColumns struct {
	ChoiceKeys, ChoiceLabels  []string
	LeastChoices, MostChoices uint16
	ChoiceForm                governance.ChoiceForm
}

// Stated returns the choices and the bounds.
func (c ChoiceColumns) Stated() (choices []governance.Choice, bounds governance.ChoiceBounds) {
	for i, key := range c.ChoiceKeys {
		choices = append(choices, governance.Choice{Key: key, Label: c.ChoiceLabels[i]})
	}
	return choices, governance.ChoiceBounds{Least: int(c.LeastChoices), Most: int(c.MostChoices), Form: c.ChoiceForm}
}

// PublishedStates returns the published states of the proposals, with the fields that the feed needs: of the
// times and months none.
func PublishedStates(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]ProposalState, error) {
	type row struct {
		ProposalState
		ChoiceColumns
		ChoiceVotes                   []uint64
		ChoicePowers                  []decimal.Decimal
		ChoicesScored, ChoicesCounted bool
	}
	rows, err := warehouse.Find[row](ctx, w, "read published states", sqlText("proposal_state_by_ref"),
		warehouse.RefTable(refs))
	return warehouse.Keyed(rows, err, func(r row) (record.RefHash, ProposalState) {
		r.Choices, r.Bounds = r.Stated()
		for c := range r.Choices {
			if r.ChoicesScored {
				r.Scores = append(r.Scores, governance.Score{Power: r.ChoicePowers[c]})
			}
			if r.ChoicesCounted {
				r.Scores[c].Votes, r.HasChoiceVotes = r.ChoiceVotes[c], true
			}
		}
		return r.Ref, r.ProposalState
	})
}

// AddQualityFlag adds a quality flag to a published state under a new revision. The numbers stay.
func AddQualityFlag(
	ctx context.Context, w *warehouse.Warehouse, ref record.RefHash, flag governance.QualityFlag, revision uint64,
) error {
	err := w.Conn.Exec(ctx, sqlText("proposal_state_add_flag"), clickhouse.Named("flag", string(flag)),
		clickhouse.Named("revision", revision), clickhouse.Named("ref", hex.EncodeToString(ref[:])))
	if err != nil {
		return fmt.Errorf("flag a proposal %s: %w", flag, err)
	}
	return nil
}

// PublishedIdentities returns the identity under which each proposal was last published. Proposals never
// published, and those published as withdrawn, are missing.
func PublishedIdentities(
	ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash,
) (map[record.RefHash]governance.Identity, error) {
	return warehouse.FindBy[record.RefHash, governance.Identity](ctx, w, "read published identities",
		sqlText("proposal_state_identities"), warehouse.RefTable(refs))
}

// ProposalsDue returns the proposals that the passing of time has changed since they were published.
func ProposalsDue(ctx context.Context, w *warehouse.Warehouse, now time.Time) ([]record.RefHash, error) {
	return warehouse.Find[record.RefHash](ctx, w, "list proposals due", sqlText("proposal_state_due"), now.UnixMilli())
}

// NextDue returns when the next proposal is due after a time; zero for none.
func NextDue(ctx context.Context, w *warehouse.Warehouse, after time.Time) (time.Time, error) {
	next, err := warehouse.FindValue[*time.Time](ctx, w, "read when the next proposal is due", sqlText("proposal_state_next_due"), after.UnixMilli())
	if err != nil || next == nil {
		return time.Time{}, err
	}
	return *next, nil
}

// PublishedSource is a source with a DAO that its proposals were published under.
type PublishedSource struct {
	DAOID string
	record.SourceRef
}

// PublishedSources returns the sources of published proposals and topics, also those that another DAO has by now.
func PublishedSources(ctx context.Context, w *warehouse.Warehouse) ([]PublishedSource, error) {
	return warehouse.Find[PublishedSource](ctx, w, "list published sources", sqlText("proposal_state_sources"))
}

// OwnedSource is a source with the DAO that has it; Flagged marks it as spam.
type OwnedSource struct {
	PublishedSource
	Flagged bool
}

// ProposalsMoved returns, for each of some sources, the proposals that were last published under another
// DAO, or as withdrawn from one: there they may be superseded no more. It also returns
// those that were published as spam where the source is none, and the reverse.
func ProposalsMoved(ctx context.Context, w *warehouse.Warehouse, of []OwnedSource) (map[record.SourceRef][]record.RefHash, error) {
	if len(of) == 0 {
		return map[record.SourceRef][]record.RefHash{}, nil
	}
	wanted := warehouse.ExternalTable("wanted_sources", of, func(s OwnedSource) []any {
		return []any{string(s.Provider), s.ID, s.DAOID, s.Flagged}
	}, warehouse.TextColumn("provider"), warehouse.TextColumn("source_id"), warehouse.TextColumn("owner_id"), ext.Column("spam", "Bool"))
	return warehouse.FindGroups[record.SourceRef, record.RefHash](ctx, w, "list proposals moved",
		sqlText("proposal_state_moved"), wanted)
}

// UnpublishedProposals counts the proposals that have changed since they were published, or never were.
func UnpublishedProposals(ctx context.Context, w *warehouse.Warehouse) (uint64, error) {
	return warehouse.FindValue[uint64](ctx, w, "count unpublished proposals", sqlText("proposal_state_unpublished"))
}
