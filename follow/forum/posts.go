package forum

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// windowIDs is how many ids a window of old versions of Discourse spans.
	windowIDs = 50
	// maxWindows bounds one run. Beyond, as after days without a connection, the sweep of
	// all topics finds what changed in fewer requests.
	maxWindows = 20
)

// logPosition is the cursor of new posts.
type logPosition struct {
	// Post is the highest id below which every post has been seen.
	Post uint64 `json:"post"`
	// Left is when a run last left posts to the sweep; zero for never.
	Left time.Time `json:"left,omitzero"`
}

// post is an entry of posts.json.
type post struct {
	ID        uint64
	Topic     uint64    `json:"topic_id"`
	Number    int       `json:"post_number"`
	CreatedAt time.Time `json:"created_at"`
}

// newPosts are the posts of one topic above the cursor.
type newPosts struct {
	// first is the lowest id, and highest the number of the newest in the topic.
	first   uint64
	highest int
}

// readPosts fetches the topics with posts above the cursor.
func (l *lanes) readPosts(ctx context.Context) (bool, error) {
	var at logPosition
	cursor := l.cursor(laneLog, &at)
	posts, left, err := l.postsAbove(ctx, at.Post)
	if err != nil || len(posts) == 0 {
		return false, err
	}
	topics := map[string]newPosts{}
	newest := posts[0]
	for _, p := range posts {
		id := text(p.Topic)
		t, known := topics[id]
		if !known || p.ID < t.first {
			t.first = p.ID
		}
		t.highest = max(t.highest, p.Number)
		topics[id] = t
		if p.ID > newest.ID {
			newest = p
		}
	}
	// The topic with the newest post comes first.
	ids := slices.SortedFunc(maps.Keys(topics), func(a, b string) int { return cmp.Compare(topics[b].first, topics[a].first) })
	found, err := l.fetch(ctx, ids, 0)
	if err != nil {
		return false, err
	}
	if err := l.suspect(ctx, found.gone); err != nil {
		return false, err
	}
	read := newest.ID
	for id, highest := range found.old {
		if highest < topics[id].highest {
			read = min(read, topics[id].first-1) // the cache of the forum is behind: again next time
		}
	}
	if read == newest.ID {
		cursor.UpstreamAt = &newest.CreatedAt
	}
	if left {
		at.Left = l.Clock.Now()
	}
	at.Post = max(at.Post, read)
	return false, l.move(ctx, nil, cursor, at)
}

// postsAbove returns the posts with ids above one, from the newest window downwards. left
// is true if there are more below than one run reads. With 0, for a forum that has not been
// followed yet, it is the newest window: a backfill reads the past.
func (l *lanes) postsAbove(ctx context.Context, known uint64) (posts []post, left bool, err error) {
	path, before := "/posts.json", uint64(0)
	for range maxWindows {
		var window struct {
			Posts *[]post `json:"latest_posts"`
		}
		if _, err := l.get(ctx, path, &window); err != nil {
			return nil, false, err
		}
		if window.Posts == nil {
			return nil, false, fmt.Errorf("answer of %s to %s %w", l.Name, path, errNoForum)
		}
		lowest := before
		for _, p := range *window.Posts {
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
			return posts, false, nil
		}
		before = lowest
		path = "/posts.json?before=" + text(before)
	}
	return posts, true, nil
}

// leftSince reports whether posts were left to a sweep that begins after a time.
func (l *lanes) leftSince(swept time.Time) bool {
	var at logPosition
	l.cursor(laneLog, &at)
	return at.Left.After(swept)
}
