package query

import (
	"reflect"
	"slices"
	"sync"

	"pnyx/governance"
	"pnyx/governance/rules"
)

var sets = sync.OnceValue(func() map[reflect.Type][]string { //nolint:gochecknoglobals // a constant that Go cannot write as one
	all := map[reflect.Type][]string{
		reflect.TypeFor[governance.EventType]():  rules.EventTypeNames(),
		reflect.TypeFor[governance.SignalType](): rules.SignalTypeNames(),
		reflect.TypeFor[TimelineMetric]():        governance.TimelineMetrics(),
	}
	for _, set := range []any{
		governance.Coverages(), governance.Lifecycles(), governance.AllOutcomes(), governance.Surfaces(),
		governance.ExportRowKinds(), governance.ExportFormats(),
		[]governance.ChangeKind{
			governance.ProposalChange, governance.DAOChange, governance.TopicChange, governance.EventChange, governance.SignalChange,
		},
		[]BallotOrder{BallotsByPower, BallotsByTime},
		[]DelegateOrder{DelegatesByPower, DelegatesByDelegators, DelegatesByActivity},
		[]DelegationDirection{DelegationsGiven, DelegationsReceived},
		[]EventTime{EventTimeOccurred, EventTimeDiscovered},
		[]ProposalOrder{ProposalsByUpdate, ProposalsByCreation, ProposalsEndingSoon, ProposalsEnded},
		[]ProposalTime{ProposalCreatedAt, ProposalStartAt, ProposalEndAt, ProposalUpdatedAt},
		[]SignalOrder{SignalsByPriority, SignalsByDetection, SignalsByDeadline},
		[]TopicOrder{TopicsByUpdate, TopicsByCreation, TopicsByReplies},
	} {
		for _, value := range reflect.ValueOf(set).Seq2() {
			all[value.Type()] = append(all[value.Type()], value.String())
		}
	}
	return all
})

// Values returns what a field of a type may hold, nil for a type that is no closed set.
func Values(field reflect.Type) []string { return slices.Clone(sets()[field]) }
