package forum

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// perPage is the number of topics on a page, and postsPage the number of posts.
	perPage   = 30
	postsPage = 50
	// chunk is the number of posts in a topic's answer.
	chunk = 20
	// lastDirectoryPage is the last page of users, and AddressField what everybody sees of them.
	lastDirectoryPage, AddressField = 10, "Ethereum address"
	// timeLayout is the time format of Discourse.
	timeLayout = "2006-01-02T15:04:05.000Z"
)

// object is a JSON object.
type object = map[string]any

// failure is an answer with an error in the forum's form.
type failure struct {
	status int
	kind   string
}

func (e failure) Error() string { return e.kind }

// answers are what the forum says.
type answers struct{ *Forum }

// answer returns the answer to a path and query, a failure, or a redirect's location.
func (f answers) answer(r *http.Request) (body any, location string, err error) {
	query := r.URL.Query()
	path := strings.TrimSuffix(r.URL.Path, ".json")
	switch path {
	case "/posts":
		before, _ := strconv.Atoi(query.Get("before")) // no number is 0, as there
		return object{"latest_posts": f.latestPosts(before)}, "", nil
	case "/latest":
		page, _ := strconv.Atoi(query.Get("page")) // no number is 0, as there
		return f.latest(query.Get("order"), query.Get("ascending") == "true", page), "", nil
	case "/categories":
		return object{"category_list": object{"categories": f.categoriesBelow(0)}}, "", nil
	case "/about":
		return f.about(), "", nil
	case "/site":
		return object{"user_fields": []object{{"id": 3, "name": AddressField, "show_on_profile": true}, {"id": 4, "name": "Legal name"}}}, "", nil
	case "/directory_items":
		items, err := f.directory(query)
		return object{"directory_items": items, "meta": object{"total_rows_directory_items": len(f.addresses)}}, "", err
	}
	parts := strings.Split(strings.TrimPrefix(path, "/t/"), "/")
	if len(parts) == 2 && parts[1] == "posts" {
		t, err := f.find(parts[0])
		return object{"post_stream": object{"posts": f.chosen(t, query["post_ids[]"])}}, "", err
	}
	t, err := f.find(parts[len(parts)-1])
	if err != nil && f.switches.Merged {
		return nil, "/t/renew/1", nil
	}
	if err == nil && f.switches.Slugs && (len(parts) == 1 || parts[0] != slug(t.title)) {
		return nil, fmt.Sprintf("/t/%s/%d.json", slug(t.title), t.id), nil
	}
	if err == nil && f.switches.Failing == t.id {
		err = failure{http.StatusInternalServerError, "internal"}
	}
	return f.whole(t), "", err
}

func (f answers) find(id string) (*topic, error) {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil || n < 1 || n > len(f.topics):
		return nil, failure{http.StatusNotFound, "not_found"}
	case f.switches.Staff:
		return f.topics[n-1], nil
	case f.topics[n-1].deleted && !f.switches.Gone:
		return nil, failure{http.StatusNotFound, "not_found"}
	case f.topics[n-1].deleted:
		return nil, failure{http.StatusGone, "not_found"}
	case f.topics[n-1].private, f.restricted(f.topics[n-1]):
		return nil, failure{http.StatusForbidden, "invalid_access"}
	}
	return f.topics[n-1], nil
}

// latestPosts returns the posts before an id, newest first; 0 is after the newest.
func (f answers) latestPosts(before int) []object {
	low := 0
	if f.switches.OldPosts {
		if before == 0 {
			before = len(f.posts)
		}
		low, before = before-postsPage, before+1
	}
	posts := []object{}
	for _, p := range slices.Backward(f.posts) {
		skipped := before > 0 && p.id >= before || p.id <= low
		if skipped || p.message || p.deleted || p.hidden || p.topic.private || p.topic.deleted || f.restricted(p.topic) && !f.switches.Staff || len(posts) == postsPage {
			continue
		}
		item := p.json()
		item["topic_slug"], item["category_id"] = slug(p.topic.title), p.topic.category
		posts = append(posts, item)
	}
	return posts
}

func (p *post) json() object {
	return object{
		"id": p.id, "topic_id": p.topic.id, "post_number": p.number, "post_type": 1, "username": p.author,
		"created_at": p.created.Format(timeLayout), "updated_at": p.updated.Format(timeLayout), "version": p.version, "cooked": p.cooked,
	}
}

// latest returns a page of listed topics. Pinned ones come first in the order of activity.
func (f answers) latest(order string, ascending bool, page int) object {
	listed := slices.DeleteFunc(slices.Clone(f.topics), func(t *topic) bool {
		return t.deleted || t.private || t.unlisted || f.restricted(t) && !f.switches.Staff
	})
	byActivity := order != "created"
	slices.SortFunc(listed, func(a, b *topic) int {
		if byActivity {
			return cmp.Or(rank(b.pinned)-rank(a.pinned), b.bumped.Compare(a.bumped), b.id-a.id)
		}
		return cmp.Or(b.created.Compare(a.created), b.id-a.id)
	})
	if ascending {
		slices.Reverse(listed)
	}
	first := min(page*perPage, len(listed))
	last := min(first+perPage, len(listed))
	topics := []object{}
	for _, t := range listed[first:last] {
		item := f.facts(t)
		item["bumped_at"], item["pinned"] = t.bumped.Format(timeLayout), t.pinned
		topics = append(topics, item)
	}
	list := object{"per_page": perPage, "topics": topics}
	if last < len(listed) {
		list["more_topics_url"] = fmt.Sprintf("/latest?ascending=%t&order=%s&page=%d", ascending, order, page+1)
	}
	return object{"topic_list": list}
}

func rank(first bool) int {
	if first {
		return 1
	}
	return 0
}

// facts returns what lists and topics say alike.
func (f answers) facts(t *topic) object {
	tags := []any{}
	for i, tag := range t.tags {
		if f.switches.TextTags {
			tags = append(tags, tag)
		} else {
			tags = append(tags, object{"id": i + 1, "name": tag, "slug": tag})
		}
	}
	views := any(t.views)
	if f.switches.Broken == t.id {
		views = "many"
	}
	posts := len(t.shown())
	return object{
		"id": t.id, "title": t.title, "fancy_title": t.title, "slug": slug(t.title), "category_id": t.category, "tags": tags,
		"posts_count": posts, "reply_count": posts - 1, "highest_post_number": len(t.posts), "created_at": t.created.Format(timeLayout),
		"last_posted_at": t.last().Format(timeLayout), "visible": !t.unlisted, "closed": t.closed, "archived": t.archived,
		"views": views, "like_count": t.likes(),
	}
}

// whole returns a topic with its first posts.
func (f answers) whole(t *topic) object {
	if t == nil {
		return nil
	}
	item, posts, stream := f.facts(t), []object{}, []int{}
	for i, p := range t.shown() {
		if i < chunk {
			posts = append(posts, p.json())
		}
		stream = append(stream, p.id)
	}
	item["archetype"] = "regular"
	if t.private {
		item["archetype"] = "private_message"
	}
	item["chunk_size"], item["participant_count"] = chunk, t.participants()
	if item["deleted_at"] = nil; t.deleted {
		item["deleted_at"] = f.now().Format(timeLayout)
	}
	item["details"] = object{"created_by": object{"username": t.author}}
	item["post_stream"] = object{"posts": posts, "stream": stream}
	return item
}

func (f answers) chosen(t *topic, ids []string) []object {
	posts := []object{}
	if t == nil {
		return posts
	}
	for _, p := range t.shown() {
		if slices.Contains(ids, strconv.Itoa(p.id)) {
			posts = append(posts, p.json())
		}
	}
	return posts
}

func (f answers) categoriesBelow(parent int) []object {
	found := []object{}
	for _, c := range f.categories {
		if c.parent == parent && (!c.restricted || f.switches.Staff) {
			found = append(found, object{
				"id": c.id, "name": c.name, "slug": slug(c.name), "read_restricted": c.restricted, "subcategory_list": f.categoriesBelow(c.id),
			})
		}
	}
	return found
}

// directory returns a page of users, those first who state an address, in the order of these.
func (f answers) directory(query url.Values) ([]object, error) {
	page, _ := strconv.Atoi(query.Get("page")) // no number is 0, as there
	if page > lastDirectoryPage || query.Get("period") != "all" || query.Get("order") != AddressField || query.Get("user_field_ids") != "3" {
		return nil, failure{http.StatusBadRequest, "invalid_parameters"}
	}
	names := slices.SortedFunc(maps.Keys(f.addresses), func(a, b string) int {
		order := cmp.Compare(f.addresses[b], f.addresses[a])
		if query.Has("asc") {
			order = -order
		}
		return cmp.Or(rank(f.addresses[b] != "")-rank(f.addresses[a] != ""), order, cmp.Compare(a, b))
	})
	items := []object{}
	for _, name := range names[min(page*postsPage, len(names)):min((page+1)*postsPage, len(names))] {
		fields, address := object{}, f.addresses[name]
		if address != "" && f.switches.TextTags {
			fields["3"] = address
		} else if address != "" {
			fields["3"] = object{"value": []string{address}, "searchable": false}
		}
		items = append(items, object{"user": object{"username": name, "user_fields": fields}})
	}
	return items, nil
}

func (f answers) about() object {
	topics, young := 0, 0
	for _, t := range f.topics {
		if !t.deleted && !t.private {
			topics++
			young += rank(f.now().Sub(t.created) < 30*24*time.Hour)
		}
	}
	return object{"about": object{
		"title": "Harbor Forum", "version": "3.5.0",
		"stats": object{"topics_count": topics, "posts_count": len(f.posts), "topics_30_days": young, "posts_7_days": len(f.posts)},
	}}
}

func (f answers) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that left needs nothing
}
