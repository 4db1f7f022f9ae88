package warehouse

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The owner of an engine is told by the folders of its tables, and asks again for as long as a
// part may be in a folder and not in its table yet.
func TestPulseHoldsWhileTheFoldersStay(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	folder := t.TempDir()
	last := lastPulse{folders: tableFolders{paths: []string{folder}}}
	parts := 0
	for _, step := range []struct {
		name   string
		at     float64
		change bool
		maxAge time.Duration
		holds  bool
		ahead  time.Duration
	}{
		{name: "nothing is read yet", at: 100, maxAge: time.Minute},
		{name: "read at once", at: 100.5, maxAge: 2 * time.Second, holds: true},
		{name: "whoever accepts no age reads", at: 100.6},
		{name: "the first state may have been new", at: 102.7, maxAge: 2 * time.Second},
		{name: "and still may", at: 104.8, maxAge: 2 * time.Second},
		{name: "it is settled", at: 109.8, maxAge: 2 * time.Second, holds: true, ahead: 5 * time.Second},
		{name: "a part comes", at: 110.3, change: true, maxAge: 2 * time.Second},
		{name: "and was read", at: 110.8, maxAge: 2 * time.Second, holds: true},
		{name: "it may belong to its table later", at: 112.4, maxAge: 2 * time.Second},
		{name: "later", at: 114.5, maxAge: 2 * time.Second},
		{name: "settled again", at: 119.5, maxAge: 2 * time.Second, holds: true, ahead: 5 * time.Second},
		{name: "for long enough", at: 145, maxAge: 2 * time.Second},
	} {
		if step.change {
			parts++
			if err := os.Mkdir(filepath.Join(folder, time.Duration(parts).String()), 0o700); err != nil {
				t.Fatal(err)
			}
			// File systems keep times as exactly as they like.
			if err := os.Chtimes(folder, at(step.at), at(step.at)); err != nil {
				t.Fatal(err)
			}
		}
		got, holds := last.holds(at(step.at), step.maxAge)
		if holds != step.holds {
			t.Errorf("%s: got %t, want %t", step.name, holds, step.holds)
		}
		if !holds {
			last.value, last.at = Pulse{Now: at(step.at).Add(time.Hour), Parts: 7}, at(step.at)
			continue
		}
		if want := last.value.Now.Add(step.ahead); !got.Now.Equal(want) || got.Parts != 7 {
			t.Errorf("%s: got %+v, want the time %s", step.name, got, want)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if _, holds := last.holds(at(150), 2*time.Second); holds {
		t.Error("without the folder: got a pulse that holds, want it read")
	}
}
