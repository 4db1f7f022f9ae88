package chain

import (
	"slices"
	"testing"
)

func TestEveryRowOfTheEventsHasAKnownKind(t *testing.T) {
	t.Parallel()
	known := []eventKind{
		eventCreated, eventText, eventActions, eventEnd, eventExtended, eventVote, eventReduced, eventQueued, eventExecuted, eventCanceled,
		eventVetoed, eventParameters, eventUpgraded, eventScheduled, eventDone, eventOther,
	}
	for topic, of := range layouts() {
		if !slices.Contains(known, of.kind) || topic == "" || len(of.types) == 0 {
			t.Errorf("%s: got kind %q and types %v", topic, of.kind, of.types)
		}
	}
	if len(layouts()) < 60 {
		t.Errorf("got %d events, want all rows", len(layouts()))
	}
}
