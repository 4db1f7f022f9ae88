package forum_test

import (
	"testing"

	"pnyx/follow/forum"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

func TestNumbersInAnyNotationAreFollowed(t *testing.T) {
	t.Parallel()
	answers := &env.Answers{Body: []byte(`{"topic_list":{"topics":[{"id":7.0,"title":"a","slug":"a","posts_count":"2","category_id":1.0,
		"created_at":1700000000.5}]},"category_list":{"categories":[{"id":1.0,"name":"a","slug":"a"}]}}`)}
	found := map[record.Kind]bool{}
	for _, r := range forum.Answered(t.Context(), answers.Host(t), "forum.example.org") {
		found[r.Kind()] = true
		switch r := r.(type) {
		case *record.Topic:
			if r.ExternalID != "7" || r.CategoryID != "1" || r.Posts != 2 || r.CreatedAt.String() != "2023-11-14T22:13:20.500Z" {
				t.Errorf("got %+v", r)
			}
		case *record.Category:
			if r.ID != "1" {
				t.Errorf("got category %q", r.ID)
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("got records of %v, want a topic and a category", found)
	}
}
