package warehouse_test

import (
	"testing"

	"pnyx/warehouse/record"
)

func TestTopicsOfRestrictedCategoriesAreWithheld(t *testing.T) {
	t.Parallel()
	const host = "forum.example.org"
	topic := func(id string) *record.Topic {
		return &record.Topic{Host: host, ExternalID: id, Title: "Budget", CategoryID: "7", BodyHTML: "secret", Visible: true}
	}
	category := func(restricted bool) *record.Category {
		return &record.Category{Host: host, ID: "7", Restricted: restricted}
	}
	w := open(t)
	want := func(step string, withheld bool) {
		t.Helper()
		held, err := w.HeldTopics(t.Context(), host, []string{"1", "2"}, true)
		if err != nil || len(held) == 0 {
			t.Fatalf("%s: got %d topics (%v)", step, len(held), err)
		}
		for _, h := range held {
			if h.Withdrawn != withheld || h.Visible == withheld || (h.BodyHTML == "") != withheld {
				t.Errorf("%s: got %+v, want withheld %t", step, h, withheld)
			}
		}
	}
	appendAll(t, w, topic("1"))
	want("nothing is known of the category", false)
	appendAll(t, w, category(true))
	want("the category becomes restricted", true)
	appendAll(t, w, topic("1"), topic("2"))
	want("topics come later", true)
	appendAll(t, w, category(false), topic("1"), topic("2"))
	want("the category is open", false)
	appendAll(t, w, topic("1"), topic("2"), category(true))
	want("both at once", true)
}
