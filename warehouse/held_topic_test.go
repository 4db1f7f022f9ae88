package warehouse_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func TestHeldTopicsAreTheRecordsWrittenLast(t *testing.T) {
	t.Parallel()

	opened := env.Warehouse(t)
	const host = "forum.example.org"
	at := func(day int) *governance.Timestamp {
		stamp := governance.TimestampOf(time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC))
		return &stamp
	}
	topic := func(id string, day int) *record.Topic {
		return &record.Topic{
			Host: host, ExternalID: id, Title: "Budget " + id, Slug: "budget", CategoryID: "3", Tags: []string{"grants"},
			Author: "ada", BodyHTML: "<p>" + id + "</p>", Posts: 3, Likes: 2, Views: 9, Participants: new(uint64(2)),
			CreatedAt: at(day), UpdatedAt: at(day), LastPostAt: at(day), Visible: true,
		}
	}
	old, young, gone, other := topic("1", 1), topic("2", 20), topic("3", 20), topic("2", 20)
	gone.Visible, gone.Withdrawn, gone.Closed, gone.Archived = false, true, true, true
	other.Host = "forum.other.example"
	run := warehouse.Import{ID: uuid.New(), ObservedAt: time.Now()}
	if _, err := opened.Append(t.Context(), run, []record.Record{old, young, gone, other}); err != nil {
		t.Fatal(err)
	}

	t.Run("whole", func(t *testing.T) {
		held, err := opened.HeldTopics(t.Context(), host, []string{"2", "3", "4"}, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]record.Topic{*young, *gone}, held); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("without first posts", func(t *testing.T) {
		held, err := opened.HeldTopics(t.Context(), host, []string{"1"}, false)
		if err != nil {
			t.Fatal(err)
		}
		want := *old
		want.BodyHTML = ""
		if diff := cmp.Diff([]record.Topic{want}, held); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("visible ones", func(t *testing.T) {
		for _, test := range []struct {
			name   string
			since  time.Time
			except []string
			want   []string
		}{
			{"all", time.Unix(0, 0), nil, []string{"1", "2"}},
			{"except some", time.Unix(0, 0), []string{"2", "7"}, []string{"1"}},
			{"young ones", time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), nil, []string{"2"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				got, err := opened.VisibleTopics(t.Context(), host, test.since, test.except)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}
