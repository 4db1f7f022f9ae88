package forum_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/test/env"
	upstream "pnyx/test/upstream/forum"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

type names map[string]string

// wantNames reads names with a field, and fails the test unless these are held and shown then.
func (f *fixture) wantNames(field string, want names) {
	f.t.Helper()
	f.field = field
	f.restart()
	f.Poll("names")
	held, err := records.HeldNames(f.t.Context(), f.warehouse, governance.NameOfForum, host)
	got := names{}
	for _, name := range held {
		shown, failed := records.VoterNames(f.t.Context(), f.warehouse, []string{name.Voter})
		if n := shown[name.Voter]; failed != nil || n == nil || n.Source != governance.NameOfForum || n.Verified {
			f.t.Errorf("got %v (%v) of %s, want an unverified name of a forum", n, failed, name.Voter)
		} else {
			got[name.Voter] = n.Name
		}
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		f.t.Errorf("-want +got (%v)\n%s", err, diff)
	}
}

func TestUsersNameTheVotersWhoseAddressesTheyState(t *testing.T) {
	t.Parallel()
	ones, twos, letters := "0x"+strings.Repeat("1", 40), "0x"+strings.Repeat("2", 40), "0x"+strings.Repeat("a", 40)
	for name, old := range map[string]bool{"new version": false, "old version, a text": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Switch(func(s *upstream.Switches) { s.TextTags = old })
			f.wantNames("", names{})
			env.Want(t, 0, f.Requests("/site.json"), "requests without a field")
			for user, stated := range map[string]string{
				"ada": ones, "bob": " 0x" + strings.Repeat("A", 40) + "\n", "cyd": twos, "imposter": twos, "lurker": "", "eve": "ada.eth",
				"typo": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046", "zero": "0x" + strings.Repeat("0", 40),
			} {
				f.SetUser(user, stated)
			}
			f.wantNames(upstream.AddressField, names{ones: "ada", letters: "bob"})
			f.SetUser("ada", "")
			f.SetUser("imposter", ones)
			f.wantNames(upstream.AddressField, names{ones: "imposter", twos: "cyd", letters: "bob"})
			f.SetUser("bob", "")
			f.wantNames(upstream.AddressField, names{ones: "imposter", twos: "cyd"})
			f.Switch(func(s *upstream.Switches) { s.Rebuilding = true })
			f.FailPoll("names", "")
			f.Switch(func(s *upstream.Switches) { s.Rebuilding = false })
			f.wantNames("", names{})
		})
	}
}

func TestNamesAreOfAFieldThatEverybodySees(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, field := range []string{upstream.AddressField, "Legal name", "Missing"} { // there are no users at first
		f.field = field
		f.restart()
		f.FailPoll("names", host)
		f.SetUser("ada", "0x"+strings.Repeat("1", 40))
	}
	foreign := []record.Record{
		&record.Name{Voter: "0xa", Source: governance.NameOfForum, Origin: "other.example", Name: "ada"},
		&record.Name{Voter: "0xa", Source: governance.NameOfSnapshot, Name: "ada"},
	}
	if counts, err := f.Journal.CommitCounted(t.Context(), foreign); err != nil || counts.New > 0 {
		t.Errorf("got %v, %v for names of other sources, want them refused", counts, err)
	}
}

func TestLongNamesOfALargeDirectoryAreReadFromBothEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := names{}
	for i := range 1200 {
		user, stated := fmt.Sprint("user", i), fmt.Sprintf("0x%040x", i+1)
		if f.SetUser(user, stated); i < 550 || i >= 650 {
			want[stated] = user
		}
	}
	f.wantNames(upstream.AddressField, want)
	env.Want(t, 22, f.Requests("/directory_items.json"), "requests")
}
