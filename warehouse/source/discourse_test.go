package source_test

import (
	"testing"

	"pnyx/warehouse/record"
)

// forum is the forum's host in test lines.
const forum = "forum.harbor.example"

func TestDiscourseCategoryIDKeepsItsText(t *testing.T) {
	t.Parallel()

	checkRecords(t, "Discourse category", []recordTest{{
		"all stated", `{"id":12345678901234567,"name":"Proposals ","slug":"proposals"}`,
		&record.Category{Host: forum, ID: "12345678901234567", Name: "Proposals", Slug: "proposals"},
	}})
	checkRecords(t, "Discourse category", []recordTest{{
		"restricted", `{"id":12,"name":"Staff","slug":"staff","read_restricted":true}`, &record.Category{Host: forum, ID: "12", Restricted: true},
	}})
	checkRejections(t, "Discourse category", []rejectionTest{
		{"id with a fraction", `{"id":1.5,"name":"Proposals","slug":"proposals"}`, `id is 1.5; want a whole number from 0`},
		{"id null", `{"id":null,"name":"Proposals","slug":"proposals"}`, `id is null; want a number`},
	})
}

func TestDiscourseTopicBecomesATopic(t *testing.T) {
	t.Parallel()

	checkRecords(t, "Discourse topic", []recordTest{
		{
			"all stated", `{"id":"7.0","title":" Budget ","slug":"budget","category_id":1.2e1,"tags":["grants",{"id":3,"name":"season-2"},""],"posts_count":"3",` +
				`"reply_count":2,"views":40,"like_count":5,"participant_count":2,"created_at":"2026-01-01T00:00:00.123Z","last_posted_at":"2026-01-02T00:00:00.5Z",` +
				`"closed":true,"archived":true,"visible":false,"details":{"created_by":{"username":"ann"}},"post_stream":{"posts":[{"cooked":"<p>One</p>\r\n"},{"cooked":7}]}}`,
			&record.Topic{
				Host: forum, ExternalID: "7", Title: "Budget", Slug: "budget", CategoryID: "12", Tags: []string{"grants", "season-2"},
				Author: "ann", BodyHTML: "<p>One</p>\n", Posts: 3, Likes: 5, Views: 40,
				Participants: new(uint64(2)), CreatedAt: moment("2026-01-01T00:00:00.123Z"), UpdatedAt: moment("2026-01-02T00:00:00.5Z"),
				LastPostAt: moment("2026-01-02T00:00:00.5Z"), Closed: true, Archived: true,
			},
		},
		{
			"nothing stated but its first time", `{"id":7,"category_id":null,"created_at":"2026-01-01T00:00:00Z","last_posted_at":null,"details":null,"post_stream":null,"tags":null}`,
			&record.Topic{Host: forum, ExternalID: "7", Visible: true, CreatedAt: moment("2026-01-01"), UpdatedAt: moment("2026-01-01")},
		},
		{"deleted", `{"id":7,"title":"Budget","posts_count":0,"deleted_at":"2026-01-01T00:00:00Z"}`, &record.Topic{Host: forum, ExternalID: "7", Withdrawn: true}},
		{"a private message", `{"id":7,"title":"Budget","posts_count":0,"archetype":"private_message"}`, &record.Topic{Host: forum, ExternalID: "7", Withdrawn: true}},
		{"of a kind that nobody knows", `{"id":7,"title":"Budget","posts_count":0,"archetype":"draft"}`, &record.Topic{Host: forum, ExternalID: "7", Withdrawn: true}},
		{"restricted", `{"id":7,"title":"Budget","posts_count":0,"read_restricted":true}`, &record.Topic{Host: forum, ExternalID: "7", Withdrawn: true}},
		{"a banner", `{"id":7,"posts_count":0,"archetype":"banner","deleted_at":null}`, &record.Topic{Host: forum, ExternalID: "7", Visible: true}},
		{"hidden, in order from the last", `{"id":7,"posts_count":2,"post_stream":{"posts":[{"post_number":2,"cooked":"b"},{"post_number":1,"cooked":"a","cooked_hidden":true}]}}`, &record.Topic{Host: forum, ExternalID: "7", Visible: true, Posts: 2}},
		{"from the second post on", `{"id":7,"posts_count":2,"post_stream":{"posts":[{"post_number":2,"cooked":"b"}]}}`, &record.Topic{Host: forum, ExternalID: "7", Visible: true, Posts: 2}},
		{"no posts", `{"id":7,"posts_count":0,"post_stream":{"posts":[]}}`, &record.Topic{Host: forum, ExternalID: "7", Visible: true}},
	})
	checkRejections(t, "Discourse topic", []rejectionTest{
		{"views negative", `{"id":7,"posts_count":1,"views":-4}`, `views is -4; want a whole number from 0`},
		{"participants with a fraction", `{"id":7,"posts_count":1,"participant_count":1.5}`, `participant_count is 1.5; want a whole number from 0`},
		{"tag as a number", `{"id":7,"posts_count":1,"tags":[1]}`, `tags[0] is a number; want a string`},
		{"tag without a text for a name", `{"id":7,"posts_count":1,"tags":[{"name":1}]}`, `tags[0].name is a number; want a string`},
		{"author as a number", `{"id":7,"posts_count":1,"details":{"created_by":{"username":1}}}`, `details.created_by.username is a number; want a string`},
		{"post as a text", `{"id":7,"posts_count":1,"post_stream":{"posts":["x"]}}`, `post_stream.posts[0] is a string; want an object`},
		{"closed as a text", `{"id":7,"posts_count":1,"closed":"no"}`, `closed is a string; want a boolean`},
	})
}
