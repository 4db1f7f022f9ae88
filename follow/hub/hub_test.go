package hub_test

import (
	"testing"
	"time"

	fake "pnyx/test/upstream/hub"
)

func TestPastIsReadAndThenTheLog(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	id := f.open()
	for _, name := range []string{"ada", "bo", "cy"} {
		f.cast(fake.Vote{Proposal: id, Voter: fake.Voter(name), Power: "22.192644284923612345678901234567"})
	}
	old := f.hub.Propose(fake.Proposal{
		Space: "harbor.eth", Title: "Found", Choices: []string{"Yes"}, Created: start.Add(-time.Hour), Start: start.Add(-time.Hour), End: start.Add(time.Hour),
	})
	f.cast(fake.Vote{Proposal: old, Voter: fake.Voter("ada"), Power: "1e-7"})
	f.fill()
	f.agree()
	f.cast(fake.Vote{Proposal: id, Voter: fake.Voter("di"), Choice: "2"})
	f.run("log")
	f.agree()
}
