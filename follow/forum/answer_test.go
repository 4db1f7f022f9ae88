package forum_test

import (
	"testing"

	"pnyx/follow/forum"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// FuzzAnswer reads bytes as the answers of a forum: what becomes a record is the forum's own.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"title":"a","slug":"a","category_id":1,"posts_count":1,"highest_post_number":1,"post_stream":{"posts":[{"cooked":"<p>"}],"stream":[1]}}`,
		`{"topic_list":{"more_topics_url":"/x","topics":[{"id":1,"title":"a","bumped_at":"2026-03-04T00:00:00Z","tags":["a",{"name":"b"}],"posts_count":1,"category_id":1}]}}`,
		`{"latest_posts":[{"id":18446744073709551615,"topic_id":1,"post_number":1,"created_at":"2026-03-04T00:00:00Z"},{"id":8,"topic_id":1}]}`,
		`{"category_list":{"categories":[{"id":1,"name":"a","slug":"a","subcategory_list":[{"id":2,"name":"b","slug":"b"}]}]}}`,
	} {
		f.Add([]byte(seed))
		for _, text := range env.Lacking(f, seed) {
			f.Add([]byte(text))
		}
	}
	answers := &env.Answers{}
	host := answers.Host(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		answers.Body = body
		for _, r := range forum.Answered(t.Context(), host, "forum.example.org") {
			switch r := r.(type) {
			case *record.Topic:
				if r.Host != "forum.example.org" || r.ExternalID == "" {
					t.Errorf("got topic %q of %q", r.ExternalID, r.Host)
				}
			case *record.Category:
				if r.Host != "forum.example.org" || r.ID == "" {
					t.Errorf("got category %q of %q", r.ID, r.Host)
				}
			default:
				t.Errorf("got a record of %s", r.Kind())
			}
		}
	})
}

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
			env.Want(t, "1", r.ID, "category")
		}
	}
	env.Want(t, 2, len(found), "records", found, "a topic and a category")
}
