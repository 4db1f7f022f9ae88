package records

import (
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func eventTable() table {
	return table{
		kind: record.KindEvent,
		keys: []column{{"event_id", "String"}},
		columns: []string{
			"event_type", "event_time", "dao_id", "title", "url", "item_type",
			"provider", "external_id", "confidence", "importance",
		},
		values: valuesOf(func(into []any, e *record.Event) ([]any, error) {
			provider, externalID := splitProposal(e.Proposal)
			return append(into,
				e.Type, e.At.Time(), e.DAOID, e.Title, e.URL, e.ItemType,
				provider, externalID, e.Confidence, e.Importance,
			), nil
		}),
	}
}

func signalTable() table {
	return table{
		kind: record.KindSignal,
		keys: []column{{"signal_id", "String"}},
		columns: []string{
			"signal_type", "dao_id", "provider", "external_id", "title", "summary", "source_url",
			"actionability", "severity", "score", "surfaces", "detected_at", "deadline_at", "evidence",
		},
		values: valuesOf(func(into []any, s *record.Signal) ([]any, error) {
			provider, externalID := splitProposal(s.Proposal)
			return append(into,
				s.Type, s.DAOID, provider, externalID, s.Title, s.Summary, s.SourceURL,
				s.Actionability, s.Severity, s.Score, warehouse.NonNilTexts(s.Surfaces), s.DetectedAt.Time(),
				warehouse.TimeOrNull(s.DeadlineAt), s.Evidence,
			), nil
		}),
	}
}

// splitProposal returns the columns of a proposal reference; empty for none.
func splitProposal(ref *record.ProposalRef) (provider, externalID string) {
	if ref == nil {
		return "", ""
	}
	return string(ref.Provider), ref.ExternalID
}

// JoinProposal is the reverse of splitProposal.
func JoinProposal(provider, externalID string) *record.ProposalRef {
	if provider == "" {
		return nil
	}
	return &record.ProposalRef{Provider: governance.Provider(provider), ExternalID: externalID}
}
