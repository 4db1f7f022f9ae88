package source

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"pnyx/warehouse/record"
)

// needsHost says whether the lines of a format do not tell what forum they are of.
func (f Format) needsHost() bool {
	return f == DiscourseCategory || f == DiscourseTopic
}

// hostOf returns the host name that the folder of a forum's file is named after.
func hostOf(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	host := strings.ToLower(filepath.Base(filepath.Dir(absolute)))
	if !isHost(host) {
		return "", fmt.Errorf("%s: its folder has to be named after the forum's host (forum.example.org), and %q is no host name", path, host)
	}
	return host, nil
}

// isHost wants at least two labels, so that a folder of another purpose is not
// taken for a host.
func isHost(name string) bool {
	labels := regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	return len(name) <= 253 && labels.MatchString(name)
}

func readDiscourseCategory(in object, host string) *record.Category {
	return &record.Category{
		Host: host,
		ID:   in.get("id").serial(),
		Name: in.get("name").text(),
		Slug: in.get("slug").text(),
	}
}

func readDiscourseTopic(in object, host string) *record.Topic {
	topic := &record.Topic{
		Host:         host,
		ExternalID:   in.get("id").serial(),
		Title:        in.get("title").text(),
		Slug:         in.get("slug").text(),
		Tags:         tags(in.get("tags")),
		Author:       in.get("details").object().get("created_by").object().get("username").text(),
		BodyHTML:     firstPost(in.get("post_stream").object().get("posts")),
		Posts:        in.get("posts_count").countOrZero(),
		Likes:        in.get("like_count").countOrZero(),
		Views:        in.get("views").countOrZero(),
		Participants: in.get("participant_count").count(),
		CreatedAt:    in.get("created_at").time(),
		LastPostAt:   in.get("last_posted_at").time(),
		Closed:       in.get("closed").flag(false),
		Archived:     in.get("archived").flag(false),
		Visible:      in.get("visible").flag(true),
	}
	if category := in.get("category_id"); !category.absent() {
		topic.CategoryID = category.serial()
	}
	if topic.UpdatedAt = topic.LastPostAt; topic.UpdatedAt == nil {
		topic.UpdatedAt = topic.CreatedAt
	}
	return topic
}

// serial returns the text of a number that has to be there and to serve as a key.
func (v value) serial() string {
	if !v.must(kindNumber) || v.count() == nil {
		return ""
	}
	return string(v.json)
}

// tags reads a list of tags, each a text or, in later versions of Discourse, an
// object with a name.
func tags(list value) []string {
	var tags []string
	for element := range list.list() {
		tag := element
		if kindOf(element.json) == kindObject {
			tag = element.object().get("name")
		}
		if name := tag.text(); name != "" {
			tags = append(tags, name)
		}
	}
	return tags
}

func firstPost(posts value) string {
	for post := range posts.objects() {
		return post.get("cooked").prose()
	}
	return ""
}
