package governance_test

import (
	"reflect"
	"testing"

	"pnyx/governance"
)

// What the cache stores under one name must come out under the same: a worker
// writes msgpack, an API node reads it and writes JSON.
func TestShapesHaveTheSameNamesInJSONAndMsgpack(t *testing.T) {
	t.Parallel()
	checked := map[reflect.Type]bool{}
	for _, shape := range []any{
		governance.DataStatus{},
		governance.DAOListItem{},
		governance.DAODetail{},
		governance.Timeline{},
		governance.ProposalListItem{},
		governance.ProposalCandidate{},
		governance.ProposalDetail{},
		governance.VoteSummary{},
		governance.Ballot{},
		governance.Evidence{},
		governance.ForumTopic{},
		governance.ForumTopicDetail{},
		governance.Event{},
		governance.Signal{},
		governance.DAOVoter{},
		governance.VoterProfile{},
		governance.VoterVote{},
		governance.Delegate{},
		governance.VoterDelegation{},
		governance.OpenVote{},
	} {
		checkNames(t, reflect.TypeOf(shape), checked)
	}
}

func checkNames(t *testing.T, shape reflect.Type, checked map[reflect.Type]bool) {
	t.Helper()
	for shape.Kind() == reflect.Pointer || shape.Kind() == reflect.Slice {
		shape = shape.Elem()
	}
	if shape.Kind() != reflect.Struct || checked[shape] {
		return
	}
	checked[shape] = true
	for field := range shape.Fields() {
		inJSON, inMsgpack := field.Tag.Get("json"), field.Tag.Get("msgpack")
		if !field.Anonymous && inJSON == "" || inJSON != inMsgpack {
			t.Errorf("%s.%s: got json %q, msgpack %q, want one name", shape, field.Name, inJSON, inMsgpack)
		}
		checkNames(t, field.Type, checked)
	}
}
