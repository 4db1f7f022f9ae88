package hub_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/hub"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestNamesOfProfilesAreReadAndRefreshed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada, bea, broken := "0x"+strings.Repeat("a", 40), "0x"+strings.Repeat("b", 40), "0x"+strings.Repeat("c", 40)
	stark := "0x0" + strings.Repeat("5", 63)
	all := []record.Record{&record.Name{Voter: "imported.eth", Source: governance.NameOfSnapshot, Name: "Imported"}} // no address
	for _, delegate := range []string{ada, bea, broken, stark, "0xshort"} {
		all = append(all, &record.DelegatePower{Placed: record.Placed{Scope: "eip155:1:0xa"}, Delegate: delegate})
	}
	env.Must(records.Append(t.Context(), f.warehouse, records.Import{ID: uuid.New(), ObservedAt: start}, all))(t)
	f.hub.SetName(stark, "Starla")
	f.hub.SetName(broken, fake.BrokenName)
	want := func(names ...string) {
		t.Helper()
		f.Poll("names", "names", "names")
		for i, voter := range []string{ada, bea, broken, stark} {
			got := env.Must(records.VoterNames(t.Context(), f.warehouse, []string{voter}))(t)
			if name := got[voter]; names[i] == "" && name != nil || names[i] != "" && (name == nil || name.Name != names[i] || name.Source != governance.NameOfSnapshot || name.Verified) {
				t.Errorf("%s: got %v, want %q", voter, name, names[i])
			}
		}
	}
	f.hub.SetName(ada, "Ada")
	want("Ada", "", "", "Starla")
	f.hub.SetName(ada, "")
	f.hub.SetName(bea, strings.Repeat("b", governance.MaxName+1))
	f.restart()
	before := f.hub.Requests()["users"]
	want("Ada", "", "", "Starla")
	env.Want(t, before, f.hub.Requests()["users"], "requests within days")
	f.clock.Step(4 * 24 * time.Hour)
	f.hub.SetName(broken, "Mended")
	want("", "", "Mended", "Starla")
	foreign := []record.Record{&record.Name{Voter: bea, Source: governance.NameOfENS, Name: "bea.eth", Verified: true}}
	if counts, err := f.Journal.CommitCounted(t.Context(), foreign); err != nil || counts.New > 0 {
		t.Errorf("got %v, %v for a name of another source, want it refused", counts, err)
	}
}
