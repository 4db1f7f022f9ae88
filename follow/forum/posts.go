package forum

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pnyx/fetch"
	"pnyx/governance"
)

const (
	// maxJump is the most ids between two posts that follow each other: messages and hidden posts are left out.
	maxJump = 1 << 24
	// maxPosts bounds the posts of a window; Discourse has 50.
	maxPosts = 1000
	// windowIDs is how many ids a window of old versions of Discourse spans.
	windowIDs = 50
	// maxWindows bounds one run. Beyond, the sweep of all topics finds what changed in fewer requests.
	maxWindows = 20
)

type logPosition struct {
	// Post is the highest id below which every post has been seen.
	Post fetch.Count `json:"post"`
	// Left is when a run last left posts to the sweep; zero for never.
	Left time.Time `json:"left,omitzero"`
}

type post struct {
	ID        fetch.Count `json:"id"`
	Topic     fetch.Count `json:"topic_id"`
	Number    fetch.Count `json:"post_number"`
	CreatedAt fetch.Time  `json:"created_at"`
	// Category is 0 where it is not stated.
	Category fetch.Count `json:"category_id"`
}

// newPosts are the posts of one topic above the cursor.
type newPosts struct {
	// first is the lowest id, and highest the number of the newest in the topic.
	first   fetch.Count
	highest fetch.Count
}

// readPosts fetches the topics with posts above the cursor.
func (l *pollers) readPosts(ctx context.Context) (bool, error) {
	var at logPosition
	cursor := l.cursor(pollerLog, &at)
	posts, left, top, err := l.postsAbove(ctx, at.Post)
	if err != nil {
		return false, err
	}
	before := cursor.State
	cursor.State = governance.SourceLive
	if l.missed.Load() > 0 && len(posts) == 0 {
		cursor.State = governance.SourceFailing
		cursor.Error = fmt.Sprintf("the list of new posts states nothing, while the sweep found %d topics that it should have", l.missed.Load())
	}
	if at.Post > top && top > 0 {
		// What was the newest is gone. Far above all others, it hid what came since.
		if at.Post-top > maxBack {
			at.Left = l.Clock.Now()
		}
		at.Post = top
		return false, l.move(ctx, nil, cursor, at)
	}
	if len(posts) == 0 {
		if cursor.State == cmp.Or(before, governance.SourceLive) {
			return false, nil
		}
		return false, l.move(ctx, nil, cursor, at)
	}
	l.missed.Store(0)
	restricted, err := l.restrictedCategories(ctx)
	if err != nil {
		return false, err
	}
	topics := map[string]newPosts{}
	newest := posts[0]
	for _, p := range posts {
		if p.ID > newest.ID {
			newest = p
		}
		if restricted[text(p.Category)] {
			continue
		}
		id := text(p.Topic)
		t, known := topics[id]
		if !known || p.ID < t.first {
			t.first = p.ID
		}
		t.highest = max(t.highest, p.Number)
		topics[id] = t
	}
	// The topic with the newest post comes first.
	ids := slices.SortedFunc(maps.Keys(topics), func(a, b string) int { return cmp.Compare(topics[b].first, topics[a].first) })
	found, err := l.fetchAll(ctx, ids, 0)
	if err != nil {
		return false, err
	}
	read := newest.ID
	for id, highest := range found.old {
		if highest < topics[id].highest {
			read = min(read, topics[id].first-1) // the cache of the forum is behind: again next time
		}
	}
	if read == newest.ID {
		cursor.UpstreamAt = &newest.CreatedAt.Time
	}
	if left {
		at.Left = l.Clock.Now()
	}
	at.Post = max(at.Post, read)
	return false, l.move(ctx, nil, cursor, at)
}

// postsAbove returns the posts with ids above one, from the newest window downwards, or with 0 the newest window alone.
// left is true if one run reads not all. top is the newest of all posts; 0 for none.
func (l *pollers) postsAbove(ctx context.Context, known fetch.Count) (posts []post, left bool, top fetch.Count, err error) {
	path, before := "/posts.json", fetch.Count(0)
	for range maxWindows {
		var window struct {
			Posts *[]post `json:"latest_posts"`
		}
		if _, err := l.get(ctx, path, &window); err != nil {
			return nil, false, 0, err
		}
		if window.Posts == nil || len(*window.Posts) > maxPosts {
			return nil, false, 0, fmt.Errorf("answer of %s to %s %w", l.Name, path, errNoForum)
		}
		lowest := before
		for _, p := range l.plausible(*window.Posts, known) {
			if before == 0 {
				top = max(top, p.ID)
			}
			if lowest == 0 || p.ID < lowest {
				lowest = p.ID
			}
			if p.ID > known {
				posts = append(posts, p)
			}
		}
		if lowest == before {
			lowest -= min(lowest, windowIDs) // nothing below in this window, which may be empty
		}
		if lowest <= known+1 || known == 0 {
			return posts, false, top, nil
		}
		before = lowest
		path = "/posts.json?before=" + text(before)
	}
	return posts, true, top, nil
}

// maxBack is how far the newest post may be below what was read, as after deletions, without topics being read again.
const maxBack = 1000

// plausible refuses the posts of a window that are further above the others, or above what was read, than any post is:
// none that followed would be read.
func (l *pollers) plausible(window []post, known fetch.Count) []post {
	const maxTopicID = 1<<63 - 1 // the greatest id that the databases of forums have
	posts := slices.SortedFunc(slices.Values(window), func(a, b post) int { return cmp.Compare(a.ID, b.ID) })
	for i, p := range posts {
		before := known
		if i > 0 {
			before = posts[i-1].ID
		}
		if p.ID == 0 || p.ID > maxTopicID || p.Topic > maxTopicID || before > 0 && p.ID > before && p.ID-before > maxJump {
			if p.ID != l.absurd {
				l.absurd = p.ID
				l.journal.Reject(l.Sources()[0], "post "+text(p.ID), fmt.Errorf("it cannot follow on post %d", before))
			}
			return posts[:i]
		}
	}
	return posts
}

// leftSince reports whether posts were left to a sweep that begins after a time.
func (l *pollers) leftSince(swept time.Time) bool {
	var at logPosition
	l.cursor(pollerLog, &at)
	return at.Left.After(swept) && !at.Left.After(l.Clock.Now())
}
