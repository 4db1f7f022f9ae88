// Package forum is a Discourse forum for tests. It answers as real ones were seen to, with
// a switch for each thing that they do now and then, and states what a follower must hold.
package forum

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/warehouse/record"
)

// Forum is a Discourse forum. It is safe for concurrent use.
type Forum struct {
	now func() time.Time

	mu         check.Mutex
	switches   Switches
	categories []category
	topics     []*topic
	posts      []*post
	addresses  map[string]string // what users state, by name
	requests   map[string]int
	clients    map[string][]time.Time
	cached     map[string]cached
}

// Switches are the things that a forum does now and then.
type Switches struct {
	// OldPosts makes posts.json answer windows of 50 ids, as old versions do.
	OldPosts bool
	// TextTags makes tags and user fields texts, as in old versions.
	TextTags bool
	// Limited turns the limits of requests on, and Cached the cache of anonymous answers.
	Limited, Cached bool
	// CrawlerRequests is how many requests clients that look like crawlers may send a minute; 0 as many as others.
	CrawlerRequests int
	// Gone makes deleted topics answer 410, not 404, and Merged lead to the first topic.
	Gone, Merged bool
	// Slugs redirects a topic's number to its address with the slug.
	Slugs bool
	// MovedTo is the address that the forum moved to; everything is redirected there.
	MovedTo string
	// Challenge is the status of the HTML page that a network answers with, to everything: 200, 403 or 503.
	Challenge int
	// Rebuilding answers 502 to everything.
	Rebuilding bool
	// Staff answers everything, as to the key of an administrator.
	Staff bool
	// Broken names a topic whose JSON has a text for a number, Failing one with status 500; 0 is none.
	Broken, Failing int
}

type category struct {
	id, parent int
	name       string
	restricted bool
}

type topic struct {
	id, category                                         int
	title, author                                        string
	tags                                                 []string
	created, bumped                                      time.Time
	closed, archived, unlisted, pinned, private, deleted bool
	views                                                int
	posts                                                []*post
}

type post struct {
	id, number, likes        int
	topic                    *topic
	author, cooked           string
	created, updated         time.Time
	version                  int
	hidden, deleted, message bool
}

// New returns a forum without topics that goes by a clock.
func New(now func() time.Time) *Forum {
	return &Forum{now: now, addresses: map[string]string{}, requests: map[string]int{}, clients: map[string][]time.Time{}, cached: map[string]cached{}}
}

// Switch changes what the forum does.
func (f *Forum) Switch(change func(*Switches)) { f.mu.Do(func() { change(&f.switches) }) }

// Requests returns how many requests a path has had, refused ones included.
func (f *Forum) Requests(path string) int {
	return check.Locked(&f.mu, func() int { return f.requests[path] })
}

// SetUser adds a user, or changes what the field AddressField of a user states.
func (f *Forum) SetUser(name, address string) { f.mu.Do(func() { f.addresses[name] = address }) }

// AddCategory adds a category, below another or with 0 at the top, and returns its number.
func (f *Forum) AddCategory(name string, parent int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.categories = append(f.categories, category{id: len(f.categories) + 1, parent: parent, name: name})
	return len(f.categories)
}

// Restrict makes a category readable for staff alone, or for everybody.
func (f *Forum) Restrict(id int, restricted bool) {
	f.mu.Do(func() { f.categories[id-1].restricted = restricted })
}

func (f *Forum) restricted(t *topic) bool {
	return t.category > 0 && t.category <= len(f.categories) && f.categories[t.category-1].restricted
}

// RenameCategory renames a category.
func (f *Forum) RenameCategory(id int, name string) {
	f.mu.Do(func() { f.categories[id-1].name = name })
}

// AddTopic adds a topic with its first post and returns its number.
func (f *Forum) AddTopic(category int, title, author, cooked string, tags ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &topic{id: len(f.topics) + 1, category: category, title: title, author: author, tags: tags, created: f.now()}
	f.topics = append(f.topics, t)
	f.add(t, author, cooked)
	return t.id
}

// Reply adds a post to a topic and returns the post's id.
func (f *Forum) Reply(id int, author, cooked string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(f.topics[id-1], author, cooked).id
}

// Message takes ids of posts for messages between users, which no list has.
func (f *Forum) Message(posts int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range posts {
		f.posts = append(f.posts, &post{id: len(f.posts) + 1, message: true, created: f.now()})
	}
}

func (f *Forum) add(t *topic, author, cooked string) *post {
	p := &post{
		id: len(f.posts) + 1, number: len(t.posts) + 1, topic: t, author: author, cooked: cooked,
		created: f.now(), updated: f.now(), version: 1,
	}
	f.posts, t.posts, t.bumped = append(f.posts, p), append(t.posts, p), p.created
	return p
}

// EditFirst changes the first post of a topic. It raises no id and bumps nothing.
func (f *Forum) EditFirst(id int, cooked string) {
	f.change(id, func(t *topic) {
		t.posts[0].cooked, t.posts[0].updated, t.posts[0].version = cooked, f.now(), t.posts[0].version+1
	})
}

// Bump puts a topic on top of the latest activity, as the edit of its last post does.
func (f *Forum) Bump(id int) { f.change(id, func(t *topic) { t.bumped = f.now() }) }

// DeletePost deletes a post. The time of the topic's last bump goes back.
func (f *Forum) DeletePost(id int) { f.show(id, func(p *post) { p.deleted = true }) }

// HidePost hides a post, or shows it again.
func (f *Forum) HidePost(id int, hidden bool) { f.show(id, func(p *post) { p.hidden = hidden }) }

func (f *Forum) show(id int, change func(*post)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.posts[id-1]
	change(p)
	shown := p.topic.shown()
	p.topic.bumped = shown[len(shown)-1].created
}

// Like adds likes to a post.
func (f *Forum) Like(id, likes int) { f.mu.Do(func() { f.posts[id-1].likes += likes }) }

// View adds views to a topic.
func (f *Forum) View(id, views int) { f.change(id, func(t *topic) { t.views += views }) }

// Retitle renames a topic, which changes its slug.
func (f *Forum) Retitle(id int, title string) { f.change(id, func(t *topic) { t.title = title }) }

// Move moves a topic to a category.
func (f *Forum) Move(id, category int) { f.change(id, func(t *topic) { t.category = category }) }

// Tag gives a topic tags.
func (f *Forum) Tag(id int, tags ...string) { f.change(id, func(t *topic) { t.tags = tags }) }

// Close closes a topic.
func (f *Forum) Close(id int) { f.change(id, func(t *topic) { t.closed = true }) }

// Archive archives a topic.
func (f *Forum) Archive(id int) { f.change(id, func(t *topic) { t.archived = true }) }

// Pin pins a topic.
func (f *Forum) Pin(id int) { f.change(id, func(t *topic) { t.pinned = true }) }

// Unlist takes a topic out of the lists, or puts it back.
func (f *Forum) Unlist(id int, unlisted bool) { f.change(id, func(t *topic) { t.unlisted = unlisted }) }

// Hide makes a topic private.
func (f *Forum) Hide(id int) { f.change(id, func(t *topic) { t.private = true }) }

// Delete deletes a topic, and Restore brings it back.
func (f *Forum) Delete(id int) { f.change(id, func(t *topic) { t.deleted = true }) }

// Restore brings a deleted topic back.
func (f *Forum) Restore(id int) { f.change(id, func(t *topic) { t.deleted = false }) }

func (f *Forum) change(id int, change func(*topic)) { f.mu.Do(func() { change(f.topics[id-1]) }) }

// Truth returns the topics that a follower must show, in order of their numbers as text.
func (f *Forum) Truth(host string) []record.Topic {
	f.mu.Lock()
	defer f.mu.Unlock()
	topics := []record.Topic{}
	for _, t := range f.topics {
		if t.deleted || t.private || t.unlisted || f.restricted(t) {
			continue
		}
		shown, created, last := t.shown(), governance.TimestampOf(t.created), governance.TimestampOf(t.last())
		topics = append(topics, record.Topic{
			Host: host, ExternalID: strconv.Itoa(t.id), Title: t.title, Slug: slug(t.title), CategoryID: strconv.Itoa(t.category),
			Tags: append([]string{}, t.tags...), Author: t.author, BodyHTML: t.posts[0].cooked,
			Posts: number(len(shown)), Likes: number(t.likes()), Views: number(t.views), Participants: new(number(t.participants())),
			CreatedAt: &created, UpdatedAt: &last, LastPostAt: &last, Closed: t.closed, Archived: t.archived, Visible: true,
		})
	}
	slices.SortFunc(topics, func(a, b record.Topic) int { return strings.Compare(a.ExternalID, b.ExternalID) })
	return topics
}

// shown returns the posts of a topic that everybody sees.
func (t *topic) shown() []*post {
	return slices.DeleteFunc(slices.Clone(t.posts), func(p *post) bool { return p.deleted || p.hidden })
}

// last returns the time of the last post.
func (t *topic) last() time.Time {
	shown := t.shown()
	return shown[len(shown)-1].created
}

func (t *topic) likes() (sum int) {
	for _, p := range t.shown() {
		sum += p.likes
	}
	return sum
}

func (t *topic) participants() int {
	authors := map[string]bool{}
	for _, p := range t.shown() {
		authors[p.author] = true
	}
	return len(authors)
}

func number(n int) uint64 {
	if n < 0 {
		panic(fmt.Sprintf("%d is below 0", n))
	}
	return uint64(n)
}

func slug(title string) string {
	return strings.ReplaceAll(strings.ToLower(title), " ", "-")
}
