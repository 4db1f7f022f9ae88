package record

import (
	"net/url"
	"strings"

	"pnyx/governance"
)

// Topic is a forum topic with its first post.
type Topic struct {
	// Host is the forum's host name, the id of its source.
	Host string
	// ExternalID is the topic's number as text.
	ExternalID string
	Title      string
	Slug       string
	// CategoryID is the category's number as text; empty where none is stated.
	CategoryID string
	Tags       []string
	Author     string
	// BodyHTML is the first post as the forum renders it.
	BodyHTML string
	Posts    uint64
	Likes    uint64
	Views    uint64
	// Participants is how many people posted; nil where upstream does not say.
	Participants *uint64
	CreatedAt    *governance.Timestamp
	// UpdatedAt is the time of the last post, or else of the creation.
	UpdatedAt *governance.Timestamp
	// LastPostAt is the time of the last post; nil where upstream does not say.
	LastPostAt *governance.Timestamp
	Closed     bool
	Archived   bool
	Visible    bool
}

// Kind returns KindTopic.
func (*Topic) Kind() Kind { return KindTopic }

// Key returns the host and the topic's id.
func (t *Topic) Key() []string { return []string{t.Host, t.ExternalID} }

// URL returns the address of the topic's page. The forum finds the topic by its number,
// whatever the slug.
func (t *Topic) URL() string {
	parts := []string{"https://" + t.Host, "t"}
	if t.Slug != "" {
		parts = append(parts, url.PathEscape(t.Slug))
	}
	return strings.Join(append(parts, t.ExternalID), "/")
}
