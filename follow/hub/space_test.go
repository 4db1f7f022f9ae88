package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/hub"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestMissingSpacesAreAskedForInOneRequestWithGrowingPauses(t *testing.T) {
	t.Parallel()
	f, _ := newVote(t)
	for i := range 60 {
		f.spaces = append(f.spaces, fmt.Sprintf("Nobody%d.eth", i))
	}
	contract := "sn:0x" + strings.Repeat("7", 64)
	f.spaces = append(f.spaces, "Harbor.eth", contract)
	f.restart()
	f.Poll("backfill")
	if got := f.hub.Requests(); got["space"] > 0 || got["spaces"] != 1 || got["proposals"] != 1 {
		t.Errorf("got requests %v, want one for all spaces, and one for the proposals of that which exists", got)
	}
	got := f.cursor("Harbor.eth", "backfill")
	if got.State != governance.SourceMissing || !strings.Contains(got.Error, "did you mean harbor.eth?") {
		t.Errorf("got %s %q, want the id that exists", got.State, got.Error)
	}
	for space, want := range map[string]string{"Nobody1.eth": "has no space Nobody1.eth", contract: "Snapshot X"} {
		polled.WantState(t, governance.SourceMissing, want, f.cursor(space, "backfill"))
	}
	env.Want(t, governance.SourceLive, f.cursor("harbor.eth", "backfill").State, "the other space live")
	f.agree()
	f.restart()
	before := f.hub.Requests()
	for range 48 * 60 {
		f.clock.Step(time.Minute)
		f.Poll("close")
	}
	after := f.hub.Requests()
	if looks := after["spaces"] - before["spaces"]; looks < 10 || looks > 13 || after["space"] > before["space"] {
		t.Errorf("got %d looks in two days, want about twelve, whose pauses double up to a day", looks)
	}
	f.hub.AddSpace(fake.Space{ID: "Nobody7.eth", Name: "New"})
	f.clock.Step(24 * time.Hour)
	f.Poll("close", "backfill")
	env.Want(t, governance.SourceLive, f.cursor("Nobody7.eth", "backfill").State, "a space live that was made later")
}

func TestDroppedSpaceIsMissingAndWithdrawnTenMinutesLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "harbor.eth", "other.eth")
	f.open()
	f.open(func(p *fake.Proposal) { p.Space = "other.eth" })
	f.fill()
	f.hub.DeleteSpace("harbor.eth")
	f.Poll("log")
	if got := f.cursor("harbor.eth", "backfill"); got.State != governance.SourceMissing || got.Error == "" {
		t.Errorf("got %s %q, want a dropped space missing", got.State, got.Error)
	}
	f.clock.Step(9 * time.Minute)
	f.Poll("log", "watch", "close")
	env.Want(t, 2, len(f.held()), "withdrawn after nine minutes")
	f.restart()
	f.clock.Step(time.Minute)
	f.Poll("watch", "close")
	f.agree()
	f.hub.AddSpace(fake.Space{ID: "harbor.eth", Name: "Harbor"})
	f.clock.Step(24 * time.Hour)
	f.Poll("close")
	env.Want(t, governance.SourceLive, f.cursor("harbor.eth", "backfill").State)
	f.Poll("sweep", "close")
	f.agree()
}

func TestFlaggedSpacesAreReadWithinADay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "harbor.eth", "other.eth")
	f.open()
	f.fill()
	for _, flagged := range []bool{true, false} {
		f.hub.FlagSpace("harbor.eth", flagged)
		f.Poll("close")
		f.clock.Step(24 * time.Hour)
		f.Poll("close")
		catalog := env.Must(records.ReadCatalog(t.Context(), f.warehouse))(t)
		for id, want := range map[string]bool{"harbor.eth": flagged, "other.eth": false} {
			env.Want(t, want, catalog.Sources[record.SourceRef{Provider: governance.Snapshot, ID: id}].Flagged, id, "flagged")
		}
	}
}

func TestWithdrawalsCountForTheirOwnSpace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "harbor.eth", "other.eth")
	f.open()
	id := f.open(func(p *fake.Proposal) { p.Space = "other.eth" })
	f.open(func(p *fake.Proposal) { p.Space = "other.eth" })
	f.fill()
	f.hub.Delete(id)
	f.Poll("log", "watch", "close")
	f.clock.Step(time.Minute)
	f.Poll("watch", "close")
	follows := map[string]uint64{}
	for _, space := range f.spaces {
		for _, poller := range []string{"log", "watch", "close", "sweep", "backfill"} {
			follows[space] += f.cursor(space, poller).Withdrawn + f.cursor("", poller).Withdrawn
		}
	}
	if follows["harbor.eth"] != 0 || follows["other.eth"] != 1 {
		t.Errorf("got withdrawn %v, want one of other.eth alone", follows)
	}
}

func TestASpaceThatCannotBeAnsweredHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "first.eth", "second.eth", "third.eth")
	lying := f.tamper()
	lying.Answer(`{"errors":[{"message":"String cannot represent value: {}","path":["spaces",0,"symbol"]}],"data":null}`, "query Spaces", "first.eth")
	for _, space := range f.spaces {
		f.cast(fake.Vote{Proposal: f.open(func(p *fake.Proposal) { p.Space = space }), Voter: fake.Voter("ada")})
	}
	f.fill()
	f.agree()
	for _, space := range f.spaces {
		env.Want(t, governance.SourceLive, f.cursor(space, "backfill").State, space)
	}
}

// Messages pass while a space is in no sources file, and other spaces of the hub are read on.
func TestASpaceThatIsFollowedAgainLacksNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "harbor.eth", "other.eth")
	f.open()
	id := f.open(func(p *fake.Proposal) { p.Space = "other.eth" })
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada")})
	f.fill()
	f.spaces = []string{"harbor.eth"}
	f.restart()
	f.clock.Step(time.Minute)
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("ada"), Choice: "2"})
	f.open(func(p *fake.Proposal) { p.Space, p.Created = "other.eth", f.clock.Now() })
	f.clock.Step(time.Minute)
	f.open()
	f.Poll("log")
	f.clock.Step(2 * time.Minute)
	f.Poll("log", "watch")
	f.spaces = []string{"harbor.eth", "other.eth"}
	f.restart()
	f.Poll("log", "watch")
	env.Want(t, governance.SourceBackfilling, f.cursor("other.eth", "backfill").State)
	f.step()
	f.restart()
	f.Poll("log", "backfill", "close")
	f.agree()
	env.Want(t, governance.SourceLive, f.cursor("other.eth", "backfill").State, "state of the space that is back")
	asked := f.hub.Requests()["votes"]
	f.restart()
	f.Poll("log", "backfill", "close")
	env.Want(t, asked, f.hub.Requests()["votes"], "requests for votes after another start", "as before")
}
