package forum_test

import (
	"testing"
	"time"

	upstream "pnyx/test/upstream/forum"
)

// TestAKeyWidensNothing follows with a key to which the forum shows everything.
func TestAKeyWidensNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.key = "k3y"
	f.Switch(func(s *upstream.Switches) { s.Staff = true })
	f.restart()
	staff := f.AddCategory("Staff", 0)
	f.Restrict(staff, true)
	f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	for range 3 {
		f.AddTopic(staff, "Salaries", "eve", "<p>secret</p>")
	}
	f.Poll("log", "watch", "backfill", "sweep")
	f.wantTruth()
	for _, secret := range []string{"2", "3", "4"} {
		if f.Requests("/t/"+secret+".json") > 0 {
			t.Errorf("topic %s is read, of a category that is restricted", secret)
		}
	}

	became := map[string]int{}
	for name, change := range map[string]func(id int){
		"deleted": f.Delete, "a private message": f.Hide, "moved": func(id int) { f.Move(id, staff) },
	} {
		became[name] = f.AddTopic(1, "Plans "+name, "ada", "<p>secret</p>")
		f.Poll("log")
		change(became[name])
	}
	late := f.AddCategory("Board", 0)
	became["of a category that became restricted"] = f.AddTopic(late, "Board", "ada", "<p>secret</p>")
	f.Poll("log")
	f.Restrict(late, true)
	f.clock.Step(time.Hour)
	f.Poll("categories", "watch", "sweep")
	f.wantTruth()
	for name, id := range became {
		if got := f.topic(id); !got.Withdrawn || got.Visible || got.Title != "" || got.BodyHTML != "" {
			t.Errorf("%s: got %+v, want it withheld", name, got)
		}
	}

	f.Restrict(late, false)
	f.clock.Step(24 * time.Hour)
	f.Poll("categories", "watch", "sweep")
	f.wantTruth()
}
