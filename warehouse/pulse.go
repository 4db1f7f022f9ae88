package warehouse

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// IdlePulseAge is how old a Pulse may be for those who are told of most of what happens: it
// bounds how late they find the rest.
const IdlePulseAge = 2 * time.Second

// Pulse tells whether a batch was committed, or a token or webhook written, since the Pulse
// before, without reading either: one statement of 2 ms instead of three that read tables.
type Pulse struct {
	// Now is the time of the server's clock. What was inserted before is in Parts.
	Now time.Time `ch:"now"`
	// Parts is a hash of the names of the parts of the journal of batches and of the tables
	// of tokens and webhooks. No name returns, so that it differs after every insert. It is zero where it
	// is not known, on a cluster: anything may have changed.
	Parts uint64 `ch:"parts"`
}

// lastPulse is the last Pulse that was read, shared by the parts of a process.
type lastPulse struct {
	mu    sync.Mutex
	value Pulse
	at    time.Time
	// folders are those of the tables whose parts are hashed, where this process owns the
	// engine; nil where it does not, or they are not known.
	folders tableFolders
}

// Pulse reads the pulse, or returns the last one if it is not older than maxAge. The owner of an
// embedded engine that accepts a maximum age may be told by the folders of the tables that the
// last one still holds: then its time goes on by the clock of this process.
func (w *Warehouse) Pulse(ctx context.Context, maxAge time.Duration) (Pulse, error) {
	last := &w.pulse
	last.mu.Lock()
	defer last.mu.Unlock()
	began := time.Now()
	if holds, does := last.holds(began, maxAge); does {
		return holds, nil
	}
	var read Pulse
	var err error
	if w.cluster != "" {
		read.Now, err = w.Now(ctx) // every shard has parts of its own
	} else if err = w.conn.QueryRow(ctx, sqlText("pulse")).ScanStruct(&read); err != nil {
		err = fmt.Errorf("read the pulse: %w", err)
	}
	if err == nil {
		last.value, last.at = read, began
	}
	return read, err
}

// holds returns the last pulse if it is younger than maxAge.
func (l *lastPulse) holds(now time.Time, maxAge time.Duration) (pulse Pulse, does bool) {
	changedAt, known := l.folders.check(now)
	age := now.Sub(l.at)
	switch {
	case maxAge <= 0, known && changedAt.After(l.at):
		return Pulse{}, false
	case age <= maxAge:
		return l.value, true
	case known && l.at.Sub(changedAt) > settledAfter && age < maxPulseAge:
		return Pulse{Now: l.value.Now.Add(age), Parts: l.value.Parts}, true
	}
	return Pulse{}, false
}

const (
	// settledAfter is how long after a folder has changed its table has the parts that are in
	// it: a part is moved into the folder first, and then belongs to the table.
	settledAfter = 3 * time.Second
	// maxPulseAge bounds for how long folders stand for a pulse.
	maxPulseAge = 30 * time.Second
)

// tableFolders notes when the folders of tables have changed. A part that comes or goes is a
// name in the folder of its table, which changes the time of the folder.
type tableFolders struct {
	paths []string
	// times are those of the folders at the last check, and changedAt is when they were first
	// seen.
	times     []time.Time
	changedAt time.Time
}

// check returns when the folders were found changed last, if that is known.
func (f *tableFolders) check(now time.Time) (changedAt time.Time, known bool) {
	times := make([]time.Time, len(f.paths))
	for i, path := range f.paths {
		folder, err := os.Stat(path)
		if err != nil {
			f.times = nil
			return now, false
		}
		times[i] = folder.ModTime()
	}
	if !slices.EqualFunc(times, f.times, time.Time.Equal) {
		f.times, f.changedAt = times, now
	}
	return f.changedAt, len(times) > 0
}

// findFolders finds the folders of the tables that the pulse is of, on this machine.
func (w *Warehouse) findFolders(ctx context.Context) error {
	var found []struct {
		Path string `ch:"path"`
	}
	if err := w.conn.Select(ctx, &found, sqlText("pulse_folders")); err != nil {
		return fmt.Errorf("find the folders of tables: %w", err)
	}
	for _, folder := range found {
		w.pulse.folders.paths = append(w.pulse.folders.paths, folder.Path)
	}
	return nil
}

// Quiet reports whether nothing was committed between two pulses.
func (p Pulse) Quiet(since Pulse) bool { return p.Parts != 0 && p.Parts == since.Parts }
