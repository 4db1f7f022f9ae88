package source

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"pnyx/warehouse/record"
)

// hostOf returns the host name that the folder of a forum's file is named after, in lower case.
func hostOf(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	host := strings.ToLower(filepath.Base(filepath.Dir(absolute)))
	// Of two labels or more: one would match folders with other purposes.
	labels := regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	if len(host) > 253 || !labels.MatchString(host) {
		return "", fmt.Errorf("%s: the folder of a Discourse file must be named after the "+
			"forum's host (forum.example.org), and %q is not a host name", path, host)
	}
	return host, nil
}

// readDiscourseCategory reads an entry of a forum's list of categories.
func readDiscourseCategory(in object) record.Record {
	category := &record.Category{
		Host: in.line.host,
		ID:   in.get("id").numericID(),
		Name: in.get("name").text(),
		Slug: in.get("slug").text(),
	}
	if in.get("read_restricted").boolOr(false) {
		category.Name, category.Slug, category.Restricted = "", "", true
	}
	return category
}

func readDiscourseTopic(in object) record.Record {
	topic := &record.Topic{
		Host:         in.line.host,
		ExternalID:   in.get("id").numericID(),
		Title:        in.get("title").text(),
		Slug:         in.get("slug").text(),
		Tags:         readTags(in.get("tags")),
		Author:       in.get("details").object().get("created_by").object().get("username").text(),
		BodyHTML:     readFirstPost(in.get("post_stream").object().get("posts")),
		Posts:        in.get("posts_count").countOrZero(),
		Likes:        in.get("like_count").countOrZero(),
		Views:        in.get("views").countOrZero(),
		Participants: in.get("participant_count").count(),
		CreatedAt:    in.get("created_at").time(),
		LastPostAt:   in.get("last_posted_at").time(),
		Closed:       in.get("closed").boolOr(false),
		Archived:     in.get("archived").boolOr(false),
		Visible:      in.get("visible").boolOr(true),
	}
	if category := in.get("category_id"); !category.absent() {
		topic.CategoryID = category.numericID()
	}
	topic.UpdatedAt = cmp.Or(topic.LastPostAt, topic.CreatedAt)
	if !isPublic(in) {
		return topic.Withheld()
	}
	return topic
}

// isPublic reports whether everybody may read a topic: it is not deleted, no private message
// or of another kind that is not known, and not restricted.
func isPublic(in object) bool {
	switch in.get("archetype").text() {
	case "", "regular", "banner":
		return in.get("deleted_at").absent() && !in.get("read_restricted").boolOr(false)
	}
	return false
}

// numericID returns the text of a required integer that serves as a key.
func (v value) numericID() string {
	if id := v.required(typeNumber).count(); id != nil {
		return strconv.FormatUint(*id, 10)
	}
	return ""
}

// readTags reads tags: strings or, in later versions of Discourse, objects with a name.
func readTags(list value) []string {
	var tags []string
	for element := range list.elements() {
		tag := element
		if typeOf(element.json) == typeObject {
			tag = element.object().get("name")
		}
		if name := tag.text(); name != "" {
			tags = append(tags, name)
		}
	}
	return tags
}

// readFirstPost returns the HTML of the first post; empty if it is not there, or hidden: the forum then
// states a notice in its place, and to those with a key what nobody else may read.
func readFirstPost(posts value) string {
	for post := range posts.objects() {
		if number := post.get("post_number"); !number.absent() && number.numericID() != "1" {
			continue
		}
		isShown := post.get("deleted_at").absent()
		for _, mark := range []string{"hidden", "cooked_hidden", "user_deleted"} {
			isShown = isShown && !post.get(mark).boolOr(false)
		}
		if isShown {
			return post.get("cooked").multiline()
		}
		return ""
	}
	return ""
}
