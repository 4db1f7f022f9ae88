package counts

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ProposalState is what the last publication of a proposal computed: the numbers that
// its DAO's totals are sums of.
type ProposalState struct {
	// Ref identifies the proposal among all providers.
	Ref record.RefHash `ch:"proposal_ref"`
	// Key is the proposal's key in the API.
	Key governance.ProposalKey `ch:"proposal_key"`
	// Identity is the proposal's DAO, provider and upstream id.
	Identity governance.Identity
	// SourceID is the id of the space or Governor that it belongs to.
	SourceID string
	// WithdrawnFrom is the DAO that a withdrawn proposal belongs to, whose Identity.DAOID is
	// empty, so that it is part of no DAO. It is empty for all others.
	WithdrawnFrom string
	// Lifecycle is the lifecycle as the API shows it.
	Lifecycle governance.Lifecycle
	// Outcome is the outcome as the API shows it.
	Outcome governance.Outcome
	// Coverage is the coverage of the ballots as the API shows it.
	Coverage governance.Coverage
	// VoteReady reports whether the vote summary has numbers.
	VoteReady bool
	// Votes is the number of ballots that are held.
	Votes uint64
	Power decimal.Decimal
	// Basis is the basis of the vote summary; empty where it has no numbers.
	Basis governance.Basis
	// TotalVotes is the number of votes in the vote summary; nil if unknown.
	TotalVotes *uint64
	// TotalPower is the total voting power in the vote summary.
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
	NextChangeAt *governance.Timestamp
	// QuorumReached is the value of the vote summary; nil if unknown.
	QuorumReached *bool
	// BallotsObservedAt is when the import of the newest ballot began; nil for none.
	BallotsObservedAt *governance.Timestamp
	// StatedFingerprint is the fingerprint of upstream's statement on the result; zero in states
	// of earlier versions.
	StatedFingerprint uint64
	// Confirmed reports that the result is final and has every ballot, or is upstream's own.
	Confirmed bool
	// Flagged is true for spam, which counts in no sum, ranking, event or signal.
	Flagged bool
	// QualityFlags are as the API shows them.
	QualityFlags []string
	// DerivedTitle stands for the title that upstream does not state; empty where it does.
	DerivedTitle string
	Revision     uint64
}

// WriteProposalStates writes the states of one publication. A state replaces the states of
// earlier revisions.
func WriteProposalStates(ctx context.Context, w *warehouse.Warehouse, states []ProposalState) error {
	operation := fmt.Sprintf("write %d proposal states", len(states))
	return warehouse.InsertRows(ctx, w, sqlText("proposal_state_insert"), operation, states, func(insert driver.Batch, s ProposalState) error {
		choices := splitChoices(s)
		months, counts := splitMonths(s.VotedIn)
		return insert.Append(
			string(s.Ref[:]), string(s.Key), s.Identity.DAOID, string(s.Identity.Provider), s.SourceID,
			s.Identity.ExternalID, string(s.Lifecycle), string(s.Outcome), string(s.Coverage),
			s.VoteReady, s.Votes, s.Power, choices.keys, choices.labels, choices.votes, choices.powers,
			months, counts,
			warehouse.TimeOrNull(s.CreatedAt), warehouse.TimeOrNull(s.UpdatedAt), warehouse.TimeOrNull(s.StartAt),
			warehouse.TimeOrNull(s.EndAt), warehouse.TimeOrNull(s.LastVotedAt), warehouse.TimeOrNull(s.NextChangeAt),
			warehouse.NonNilTexts(s.QualityFlags), s.WithdrawnFrom, string(s.Basis), s.TotalVotes, s.TotalPower, s.Settled,
			s.Flagged, s.DerivedTitle, s.Undated, uint16(s.Bounds.Least), uint16(s.Bounds.Most), string(s.Bounds.Form), warehouse.NonNilTexts(s.Verdicts), //nolint:gosec // at most 65,535 choices
			s.QuorumReached, warehouse.TimeOrNull(s.BallotsObservedAt), s.StatedFingerprint, s.Confirmed,
			len(s.Scores) > 0, len(s.Scores) > 0 && s.HasChoiceVotes, s.Revision)
	})
}

// choiceColumns has choices and scores as parallel arrays, the form of their columns. What is not
// known of each choice is zero.
type choiceColumns struct {
	keys, labels []string
	votes        []uint64
	powers       []decimal.Decimal
}

func splitChoices(s ProposalState) choiceColumns {
	c := choiceColumns{keys: []string{}, labels: []string{}, votes: []uint64{}, powers: []decimal.Decimal{}}
	for i, choice := range s.Choices {
		var score governance.Score
		if len(s.Scores) > 0 {
			score = s.Scores[i]
		}
		if !s.HasChoiceVotes {
			score.Votes = 0
		}
		c.keys, c.labels = append(c.keys, choice.Key), append(c.labels, choice.Label)
		c.votes, c.powers = append(c.votes, score.Votes), append(c.powers, score.Power)
	}
	return c
}

// PublishedStates returns the published states of the proposals, in order of their
// references, with the fields that the feed needs: of the times and months none.
func PublishedStates(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) ([]ProposalState, error) {
	type row struct {
		ProposalState
		ChoiceKeys, ChoiceLabels []string
		ChoiceVotes              []uint64
		ChoicePowers             []decimal.Decimal
		ChoicesScored            bool
		ChoicesCounted           bool
		LeastChoices             uint16
		MostChoices              uint16
		ChoiceForm               governance.ChoiceForm
	}
	rows, err := warehouse.FindRefs[row](ctx, w, "read published states", sqlText("proposal_state_by_ref"), refs)
	return warehouse.Values(rows, func(r row) ProposalState {
		for c, key := range r.ChoiceKeys {
			r.Choices = append(r.Choices, governance.Choice{Key: key, Label: r.ChoiceLabels[c]})
			if r.ChoicesScored {
				r.Scores = append(r.Scores, governance.Score{Power: r.ChoicePowers[c]})
			}
			if r.ChoicesCounted {
				r.Scores[c].Votes, r.HasChoiceVotes = r.ChoiceVotes[c], true
			}
		}
		r.Bounds = governance.ChoiceBounds{Least: int(r.LeastChoices), Most: int(r.MostChoices), Form: r.ChoiceForm}
		return r.ProposalState
	}), err
}

// AddQualityFlag adds a quality flag to the published state of a proposal under a new
// revision. The numbers stay.
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

// PublishedIdentities returns the identity under which each proposal was last published.
// Proposals never published, and those published as withdrawn, are missing.
func PublishedIdentities(
	ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash,
) (map[record.RefHash]governance.Identity, error) {
	type row struct {
		Ref record.RefHash `ch:"proposal_ref"`
		governance.Identity
	}
	rows, err := warehouse.FindRefs[row](ctx, w, "read published identities", sqlText("proposal_state_identities"), refs)
	return warehouse.Keyed(rows, err, func(r row) (record.RefHash, governance.Identity) { return r.Ref, r.Identity })
}

// ProposalsDue returns the proposals that have changed by now, through the passing of time
// alone, since they were published.
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
	type row struct {
		DAOID              string `ch:"dao_id"`
		Provider, SourceID string
	}
	rows, err := warehouse.Find[row](ctx, w, "list published sources", sqlText("proposal_state_sources"))
	return warehouse.Values(rows, func(r row) PublishedSource {
		return PublishedSource{r.DAOID, record.SourceRef{Provider: governance.Provider(r.Provider), ID: r.SourceID}}
	}), err
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
	wanted, err := warehouse.ExternalTable("wanted_sources", of, func(s OwnedSource) []any {
		return []any{string(s.Provider), s.ID, s.DAOID, s.Flagged}
	}, warehouse.TextColumn("provider"), warehouse.TextColumn("source_id"), warehouse.TextColumn("owner_id"), ext.Column("spam", "Bool"))
	type row struct {
		ProposalRef        record.RefHash
		Provider, SourceID string
	}
	result, err := w.QueryWith(ctx, wanted, err, sqlText("proposal_state_moved"))
	rows, err := warehouse.SelectRows[row](result, err, "list proposals moved")
	return warehouse.Grouped(rows, err, func(r row) (record.SourceRef, record.RefHash) {
		return record.SourceRef{Provider: governance.Provider(r.Provider), ID: r.SourceID}, r.ProposalRef
	})
}

// UnpublishedProposals counts the proposals that batches have changed since they were
// published, or that never were.
func UnpublishedProposals(ctx context.Context, w *warehouse.Warehouse) (uint64, error) {
	return warehouse.FindValue[uint64](ctx, w, "count unpublished proposals", sqlText("proposal_state_unpublished"))
}
