package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	pnyx "pnyx/clients"
)

// A page that is stale lacks what no change tells, where the list of changes has begun again
// since.
func TestStalePagesAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := "2"
		pages := map[string][]*pnyx.Page[string]{
			"":   {page(pnyx.ReadinessReady, &next, "a", "b")},
			next: {page(pnyx.ReadinessStale, nil, "c"), page(pnyx.ReadinessReady, nil, "c", "d")},
		}
		var rows []string
		err := each(func(cursor string) (*pnyx.Page[string], error) {
			first := pages[cursor][0]
			pages[cursor] = pages[cursor][1:]
			return first, nil
		}, func(row string) error {
			rows = append(rows, row)
			return nil
		})
		if want := []string{"a", "b", "c", "d"}; err != nil || !slices.Equal(rows, want) {
			t.Errorf("got %v (%v), want %v", rows, err, want)
		}
	})
}

// The longest id of a DAO has 512 bytes, a file's name at most 255.
func TestLongIDsHaveFiles(t *testing.T) {
	t.Parallel()
	folder, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	names := map[string]bool{}
	for _, id := range []string{"ens", "a/b", strings.Repeat("🍯", 128), strings.Repeat("🍯", 127) + "🐝"} {
		name := file("dao", id)
		if err := (mirror{folder: folder}).write(name, id); err != nil || names[name] {
			t.Errorf("%s: got %v and the name %s, want a file of its own", id, err, name)
		}
		names[name] = true
	}
}

func page(readiness pnyx.Readiness, next *string, rows ...string) *pnyx.Page[string] {
	var p pnyx.Page[string]
	p.Data, p.Meta.Readiness.Status, p.Meta.Page.NextCursor = rows, readiness, next
	return &p
}
