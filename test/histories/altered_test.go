package histories

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pnyx/test/env"
)

// recorded is a history of two nodes, in which the engine hung and a worker was killed, without repeats.
func recorded(t *testing.T) History {
	t.Helper()
	file := env.Must(os.Open("testdata/history.ndjson.gz"))(t)
	defer file.Close()
	zip := env.Must(gzip.NewReader(file))(t)
	text := env.Must(io.ReadAll(zip))(t)
	path := filepath.Join(t.TempDir(), "history.ndjson")
	env.MustDo(t, os.WriteFile(path, text, 0o600))
	return env.Must(Read(path))(t)
}

// Operations of a history that all models accept are altered one by one, as a fault of the service would.
func TestModelsFindWhatIsAlteredInARecordedHistory(t *testing.T) {
	setting := Setting{Nodes: 2, Voters: 40, Burst: 8, PerSecond: 3}
	base := recorded(t)
	if found := Check(base, setting); len(found) > 0 {
		t.Fatalf("got %v, want no violation of the recorded history", found)
	}
	// The last of those that something holds for is altered, since what is before it is known.
	last := func(h History, is func(*Operation) bool) *Operation {
		for i := range slices.Backward(h) {
			if is(&h[i]) {
				return &h[i]
			}
		}
		t.Fatal("the history has no such operation")
		return nil
	}
	tests := []struct {
		name, model string
		is          func(*Operation) bool
		alter       func(h History, o *Operation)
	}{
		{
			"one more answer than the month has", "quota",
			func(o *Operation) bool { return o.Code == codeQuota },
			func(_ History, o *Operation) { o.Status, o.Code = 200, "" },
		},
		{
			"a month that ends too early", "quota",
			func(o *Operation) bool { return o.Kind == Request && o.Token != "" && o.Status == 200 },
			func(_ History, o *Operation) { o.Status, o.Code = 429, codeQuota },
		},
		{
			"a revocation is forgotten", "tokens",
			func(o *Operation) bool { return o.Kind == Request && o.Status == 401 },
			func(_ History, o *Operation) { o.Status = 429 },
		},
		{
			"an earlier state is shown", "revisions",
			func(o *Operation) bool { return o.Kind == Request && o.Casts > 3 && o.Node != "" },
			func(_ History, o *Operation) { o.Casts-- },
		},
		{
			"an ETag is used again", "etags",
			func(o *Operation) bool { return o.Kind == Request && o.Casts > 3 },
			func(h History, o *Operation) {
				o.ETag = last(h, func(other *Operation) bool { return other.Path == o.Path && other.Body != o.Body && other.ETag != "" }).ETag
			},
		},
		{
			"a page lacks its last row", "walks",
			func(o *Operation) bool { return o.Kind == Walk && len(o.Rows) > 7 },
			func(_ History, o *Operation) { o.Rows = slices.Delete(slices.Clone(o.Rows), 6, 7) },
		},
		{
			"a page repeats the row before it", "walks",
			func(o *Operation) bool { return o.Kind == Walk && len(o.Rows) > 7 },
			func(_ History, o *Operation) { o.Rows = slices.Insert(slices.Clone(o.Rows), 7, o.Rows[6]) },
		},
		{
			"a part lacks a row", "exports",
			func(o *Operation) bool { return o.Kind == Export && len(o.Rows) > 3 },
			func(_ History, o *Operation) { o.Rows = slices.Delete(slices.Clone(o.Rows), 2, 3) },
		},
		{
			"a payment is not charged", "payments",
			func(o *Operation) bool { return o.Kind == Transfer },
			func(_ History, o *Operation) { o.Kind = Follow },
		},
		{
			"a payment is charged twice", "payments",
			func(o *Operation) bool { return o.Kind == Transfer },
			func(h History, o *Operation) { h[0] = *o },
		},
		{
			"an event is not delivered", "webhooks",
			func(o *Operation) bool { return o.Kind == Deliver },
			func(_ History, o *Operation) { o.Kind = Follow },
		},
		{"a copy lacks the last change", "changes", func(o *Operation) bool { return o.Kind == Copy }, func(_ History, o *Operation) { o.Casts-- }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := slices.Clone(base)
			test.alter(h, last(h, test.is))
			found := Check(h, setting)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Model == test.model }) {
				t.Errorf("got %v, want a violation of %s", found, test.model)
			}
		})
	}
}
