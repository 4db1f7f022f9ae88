package cache_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
)

var updateLayout = flag.Bool("update-layout", false, "write down the present layout")

// stored are the shapes that Redis holds, and that processes of two versions read
// from each other during an update.
func stored() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[cache.View](), reflect.TypeFor[cache.PublicationState](), reflect.TypeFor[cache.Fill](),
		reflect.TypeFor[cache.ProposalRow](), reflect.TypeFor[governance.Payment](),
		reflect.TypeFor[governance.DataStatus](), reflect.TypeFor[governance.DAOListItem](),
		reflect.TypeFor[governance.DAODetail](), reflect.TypeFor[governance.Timeline](),
		reflect.TypeFor[governance.ProposalDetail](), reflect.TypeFor[governance.ProposalCandidate](),
		reflect.TypeFor[governance.VoteSummary](), reflect.TypeFor[governance.Ballot](),
		reflect.TypeFor[governance.Evidence](), reflect.TypeFor[governance.ForumTopic](),
		reflect.TypeFor[governance.ForumTopicDetail](), reflect.TypeFor[governance.EventRow](),
		reflect.TypeFor[governance.SignalRow](), reflect.TypeFor[governance.DAOVoter](),
		reflect.TypeFor[governance.VoterProfile](), reflect.TypeFor[governance.VoterVote](),
	}
}

// layout describes each field of the stored shapes in a line, by its name in Redis.
func layout() []string {
	lines := map[string]bool{}
	for _, shape := range stored() {
		describe(shape, lines)
	}
	return slices.Sorted(maps.Keys(lines))
}

func describe(shape reflect.Type, lines map[string]bool) {
	switch shape.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		describe(shape.Elem(), lines)
	case reflect.Struct:
		for field := range shape.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("msgpack"), ",")
			line := fmt.Sprintf("%s %s %s", shape, name, field.Type)
			if !field.IsExported() || name == "-" || lines[line] {
				continue
			}
			lines[line] = true
			describe(field.Type, lines)
		}
	default:
	}
}

func TestTwoVersionsOfOneFormatReadEachOthersValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "layout-"+cache.FormatVersion+".txt")
	if *updateLayout {
		if err := os.WriteFile(path, []byte(strings.Join(layout(), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: with a new formatVersion, run this test with -update-layout", err)
	}
	present := layout()
	for line := range strings.Lines(string(known)) {
		if !slices.Contains(present, strings.TrimSpace(line)) {
			t.Errorf("%s\tis gone, or is another now: a process of the version before misreads what this one writes; raise formatVersion", line)
		}
	}
	if len(present) != strings.Count(string(known), "\n") && !t.Failed() {
		t.Error("a field was added, which the version before leaves alone: run this test with -update-layout")
	}
}
