package record

import (
	"net/url"
	"strings"

	"pnyx/governance"
)

// Topic is a forum topic with its first post.
type Topic struct {
	// Host is the forum's host name, the id of its source.
	Host       string
	ExternalID string // the topic's number as text
	Title      string
	Slug       string
	// CategoryID is the category's number as text; empty if upstream states none.
	CategoryID string
	Tags       []string
	// Author is the username of the first post's author.
	Author string
	// BodyHTML is the first post as the forum renders it.
	BodyHTML string
	Posts    uint64
	Likes    uint64
	Views    uint64
	// Participants is the number of people who posted; nil if upstream states none.
	Participants *uint64
	// CreatedAt is the time of the first post; nil if upstream states none.
	CreatedAt *governance.Timestamp
	// UpdatedAt is LastPostAt, or CreatedAt if that is nil.
	UpdatedAt *governance.Timestamp
	// LastPostAt is the time of the last post; nil if upstream states none.
	LastPostAt *governance.Timestamp
	Closed     bool
	Archived   bool
	// Visible is false if the forum hides the topic from lists.
	Visible bool
	// Withdrawn is true if it is deleted, or not shown to everybody. Visible is then false.
	Withdrawn bool `msgpack:",omitempty"`
}

// Withheld returns what is held of a topic that is not public: that it is withdrawn.
func (t *Topic) Withheld() *Topic {
	return &Topic{Host: t.Host, ExternalID: t.ExternalID, Withdrawn: true}
}

// Kind implements Record.
func (*Topic) Kind() Kind { return KindTopic }

// Key returns the host and the topic's id.
func (t *Topic) Key() Key { return Key{t.Host, t.ExternalID} }

// URL returns the address of the page, which the forum finds by the number, whatever the slug.
func (t *Topic) URL() string {
	parts := []string{"https://" + t.Host, "t"}
	if t.Slug != "" {
		parts = append(parts, url.PathEscape(t.Slug))
	}
	return strings.Join(append(parts, t.ExternalID), "/")
}
