package query

import (
	"reflect"

	"pnyx/governance"
	"pnyx/governance/rules"
)

// Values returns what a field of a type may hold, nil for a type that is no closed set.
func Values(field reflect.Type) []string {
	switch field {
	case reflect.TypeFor[governance.ChangeKind]():
		return texts(governance.ChangeKinds())
	case reflect.TypeFor[governance.Coverage]():
		return texts(governance.Coverages())
	case reflect.TypeFor[governance.Lifecycle]():
		return texts(governance.Lifecycles())
	case reflect.TypeFor[governance.Outcome]():
		return texts(governance.AllOutcomes())
	case reflect.TypeFor[governance.Surface]():
		return texts(governance.Surfaces())
	case reflect.TypeFor[BallotOrder]():
		return texts([]BallotOrder{BallotsByPower, BallotsByTime})
	case reflect.TypeFor[DelegateOrder]():
		return texts([]DelegateOrder{DelegatesByPower, DelegatesByDelegators, DelegatesByActivity})
	case reflect.TypeFor[DelegationDirection]():
		return texts([]DelegationDirection{DelegationsGiven, DelegationsReceived})
	case reflect.TypeFor[governance.ExportRowKind]():
		return texts(governance.ExportRowKinds())
	case reflect.TypeFor[governance.ExportFormat]():
		return texts(governance.ExportFormats())
	case reflect.TypeFor[EventTime]():
		return texts([]EventTime{EventTimeOccurred, EventTimeDiscovered})
	case reflect.TypeFor[governance.EventType]():
		return rules.EventTypeNames()
	case reflect.TypeFor[ProposalOrder]():
		return texts([]ProposalOrder{ProposalsByUpdate, ProposalsByCreation, ProposalsEndingSoon, ProposalsEnded})
	case reflect.TypeFor[ProposalTime]():
		return texts([]ProposalTime{ProposalCreatedAt, ProposalStartAt, ProposalEndAt, ProposalUpdatedAt})
	case reflect.TypeFor[SignalOrder]():
		return texts([]SignalOrder{SignalsByPriority, SignalsByDetection, SignalsByDeadline})
	case reflect.TypeFor[governance.SignalType]():
		return rules.SignalTypeNames()
	case reflect.TypeFor[TimelineMetric]():
		return governance.TimelineMetrics()
	case reflect.TypeFor[TopicOrder]():
		return texts([]TopicOrder{TopicsByUpdate, TopicsByCreation, TopicsByReplies})
	}
	return nil
}

func texts[Value ~string](values []Value) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = string(value)
	}
	return all
}
