package recount_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// TestTopicsOfRealDataEqualTheFiles compares lists and details of forum topics with
// the forum's own files.
func TestTopicsOfRealDataEqualTheFiles(t *testing.T) {
	dir := realData(t)
	checkTopics(t, dir, "daos.ndjson", "discourse", filepath.Join("tally", "proposals.ndjson.gz"), filepath.Join("snapshot", "proposals.ndjson.gz"))
}

// TestLongGeneratedTopicsEqualTheFiles does so with forums that have hidden topics, and
// posts that link proposals.
func TestLongGeneratedTopicsEqualTheFiles(t *testing.T) {
	t.Parallel()
	checkTopics(t, env.DataSet(t, 2_000), ".")
}

// checkTopics imports parts of a data set and compares all answers about topics with it.
func checkTopics(t *testing.T, dir string, parts ...string) {
	t.Helper()
	env.RequireEngine(t)
	talks := env.Must(readForumTopics(dir))(t)
	i := startShared(t)
	for _, part := range parts {
		i.Import(filepath.Join(dir, part))
	}
	i.AwaitPublished()
	talks.checkDetails(t, i)
	if t.Failed() {
		return
	}
	jobs := []func() error{func() error { return talks.checkRelated(i) }}
	dice := rand.New(rand.NewPCG(12, 13))
	for range 60 {
		jobs = append(jobs, talks.randomWalk(i, dice))
	}
	concurrently(t, jobs)
}

// Lists come to include visible topics and to exclude hidden ones.
func TestImportedTopicsAppearInLists(t *testing.T) {
	t.Parallel()
	i := startShared(t)
	file := filepath.Join(t.TempDir(), "forum.example", "topics.ndjson")
	lists := []string{"/v2/forum-topics", "/v2/forum-topics?daoId=forum.example&minReplies=0&sort=repliesDesc"}
	for _, step := range []struct {
		line string
		want []string
	}{
		{`{"id":1,"title":"one","category_id":null,"posts_count":2,"last_posted_at":"2026-01-01T00:00:00Z"}`, []string{"one"}},
		{`{"id":2,"title":"two","category_id":null,"posts_count":1,"last_posted_at":null}`, []string{"one", "two"}},
		{`{"id":2,"title":"two, edited","category_id":null,"posts_count":9,"last_posted_at":"2026-01-02T00:00:00Z"}`, []string{"two, edited", "one"}},
		{`{"id":1,"title":"one","category_id":null,"posts_count":2,"visible":false}`, []string{"two, edited"}},
	} {
		env.WriteLines(t, file, step.line)
		i.Import(file)
		for _, list := range lists {
			env.Until(t, func() error {
				var rows []struct{ Title string }
				_, err := i.Read(list, &rows)
				var got []string
				for _, row := range rows {
					got = append(got, row.Title)
				}
				return cmp.Or(err, differ(step.want, got))
			})
		}
	}
	for id, want := range map[int]int{1: http.StatusNotFound, 2: http.StatusOK} {
		if status, body, err := env.Fetch(i.URL + "/v2/forum-topics/" + topicKeyOf("forum.example", id)); err != nil || status != want {
			t.Errorf("topic %d: got %d %s (%v), want %d", id, status, body, err, want)
		}
	}
}

func differ(want, got []string) error {
	if diff := gocmp.Diff(want, got); diff != "" {
		return errors.New(diff)
	}
	return nil
}

// forumTopic is a topic as the forum's files have it.
type forumTopic struct {
	ID                int        `json:"id"`
	Title             string     `json:"title"`
	Slug              string     `json:"slug"`
	CategoryID        int        `json:"category_id"`
	Tags              []string   `json:"tags"`
	Posts             int        `json:"posts_count"`
	Views             int        `json:"views"`
	Likes             int        `json:"like_count"`
	CreatedAt         *time.Time `json:"created_at"`
	LastPostedAt      *time.Time `json:"last_posted_at"`
	Visible           bool       `json:"visible"`
	ParticipantsCount *int       `json:"participant_count"`
	Details           *struct {
		CreatedBy struct {
			Username string `json:"username"`
		} `json:"created_by"`
	} `json:"details"`
	PostStream *struct {
		Posts []struct {
			Cooked string `json:"cooked"`
		} `json:"posts"`
	} `json:"post_stream"`

	host, dao, category string
	// related are the proposals of the detail.
	related []any
	// summary and score are taken from the detail.
	summary any
	score   int
}

// forumTopics are all topics, by key.
type forumTopics map[string]*forumTopic

func topicKeyOf(dao string, id int) string {
	sum := sha256.Sum256([]byte(dao + "\x00discourse\x00" + strconv.Itoa(id)))
	return "t1_" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// readForumTopics reads the forums of a data set, and what links their topics to proposals.
func readForumTopics(dir string) (forumTopics, error) {
	daos, err := readLines[upstreamDAO](dir, "daos.ndjson*")
	if err != nil {
		return nil, err
	}
	all, owner := forumTopics{}, map[upstreamSource]string{}
	for _, dao := range daos {
		for _, source := range dao.Sources {
			owner[source] = dao.DAOID
			if source.Provider == "discourse" {
				err = errors.Join(err, all.readForum(dir, source.ID, dao.DAOID))
			}
		}
	}
	return all, errors.Join(err, all.link(dir, owner))
}

func (all forumTopics) readForum(dir, host, dao string) error {
	type category struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	categories, err := readLines[category](dir, "discourse", host, "categories.ndjson.gz")
	topics, unread := readLines[forumTopic](dir, "discourse", host, "topics.ndjson.gz")
	names := map[int]string{}
	for _, c := range categories {
		names[c.ID] = c.Name
	}
	for _, topic := range topics {
		topic.host, topic.dao, topic.category = host, dao, names[topic.CategoryID]
		all[topicKeyOf(dao, topic.ID)] = &topic
	}
	return errors.Join(err, unread)
}

var (
	addressOfATopic    = regexp.MustCompile(`(?i)^https?://(?:www\.)?([^/]+)/t/(?:[^/?#]*[^/?#0-9][^/?#]*/)?([1-9][0-9]*)(?:[/?#].*)?$`)
	linksToASnapshot   = regexp.MustCompile(`href="https?://(?:www\.)?snapshot\.(?:org|box)/#/(?:s:)?[^/"]+/proposal/([^"/?#]+)`)
	linksToATallyVote  = regexp.MustCompile(`href="https?://(?:www\.)?tally\.xyz/gov/([^/"]+)/proposal/([^"/?#]+)`)
	whatPeopleNeverSee = regexp.MustCompile(`</?(?:p|div|ul|ol|li|a|script|style|aside|blockquote|img|h[1-6])\b`)
)

// link notes which proposals name a topic, or are linked from it.
func (all forumTopics) link(dir string, owner map[upstreamSource]string) error {
	byName, linkedBy := map[string]*forumTopic{}, map[string][]*forumTopic{}
	for _, topic := range all {
		byName[topic.host+"/"+strconv.Itoa(topic.ID)] = topic
		post := html.UnescapeString(topic.cooked())
		for _, match := range linksToASnapshot.FindAllStringSubmatch(post, -1) {
			linkedBy[match[1]] = append(linkedBy[match[1]], topic)
		}
		for _, match := range linksToATallyVote.FindAllStringSubmatch(post, -1) {
			name := match[1] + "/" + match[2]
			linkedBy[name] = append(linkedBy[name], topic)
		}
	}
	onSnapshot, err := readLines[snapshotProposal](dir, "snapshot", "proposals.ndjson.gz")
	onChain, unread := readLines[tallyProposal](dir, "tally", "proposals.ndjson.gz")
	if err := errors.Join(err, unread); err != nil {
		return err
	}
	// If a proposal has two lines, the last one counts.
	proposals := map[string]*relation{}
	for _, from := range onSnapshot {
		p := snapshotPoll(from)
		p.daoID = owner[upstreamSource{"snapshot", from.Space.ID}]
		proposals[p.key()] = &relation{title: p.title, discussion: text(p.discussion), names: []string{from.ID}, spam: p.spam}
	}
	for _, from := range onChain {
		p := tallyPoll(from)
		p.daoID = owner[upstreamSource{"tally", from.Organization.Slug}]
		slug := from.Organization.Slug + "/"
		proposals[p.key()] = &relation{title: p.title, discussion: text(p.discussion), names: []string{slug + from.ID, slug + from.OnchainID}}
	}
	relations := map[*forumTopic]map[string]*relation{}
	maps.DeleteFunc(proposals, func(_ string, p *relation) bool { return p.spam })
	for key, p := range proposals {
		for _, topic := range p.topics(byName, linkedBy) {
			if relations[topic] == nil {
				relations[topic] = map[string]*relation{}
			}
			relations[topic][key] = p
		}
	}
	for _, topic := range all {
		topic.related = []any{}
		related := relations[topic]
		for _, key := range slices.SortedFunc(maps.Keys(related), func(a, b string) int {
			return cmp.Or(cmp.Compare(text(related[a].title), text(related[b].title)), cmp.Compare(a, b))
		}) {
			topic.related = append(topic.related, env.Plain(object{"proposalKey": key, "title": related[key].title}))
		}
	}
	return nil
}

// relation is what links a proposal to topics.
type relation struct {
	title      *string
	discussion string
	names      []string
	// spam is not named.
	spam bool
}

func (r *relation) topics(byName map[string]*forumTopic, linkedBy map[string][]*forumTopic) (topics []*forumTopic) {
	for _, name := range r.names {
		topics = append(topics, linkedBy[name]...)
	}
	if match := addressOfATopic.FindStringSubmatch(r.discussion); match != nil {
		if topic := byName[strings.ToLower(match[1])+"/"+match[2]]; topic != nil {
			topics = append(topics, topic)
		}
	}
	return topics
}

func (f *forumTopic) cooked() string {
	if f.PostStream == nil || len(f.PostStream.Posts) == 0 {
		return ""
	}
	return f.PostStream.Posts[0].Cooked
}

func (f *forumTopic) updated() *time.Time { return cmp.Or(f.LastPostedAt, f.CreatedAt) }

func (f *forumTopic) replies() int { return max(f.Posts-1, 0) }

// row is the topic in a list.
func (f *forumTopic) row() object {
	row := object{
		"topicKey": topicKeyOf(f.dao, f.ID),
		"identity": object{"daoId": f.dao, "provider": "discourse", "externalId": strconv.Itoa(f.ID)},
		"title":    strings.TrimSpace(f.Title), "url": fmt.Sprintf("https://%s/t/%s/%d", f.host, f.Slug, f.ID),
		"author": nil, "category": nil, "tags": f.Tags, "replies": strconv.Itoa(f.replies()), "posts": strconv.Itoa(f.Posts),
		"likes": strconv.Itoa(f.Likes), "views": strconv.Itoa(f.Views),
		"createdAt": stamp(f.CreatedAt), "updatedAt": stamp(f.updated()),
		"summary": f.summary, "relevanceScore": f.score,
	}
	if f.Details != nil {
		row["author"] = f.Details.CreatedBy.Username
	}
	if f.category != "" {
		row["category"] = strings.TrimSpace(f.category)
	}
	return row
}

// checkDetails compares every topic's detail and records the fields that only details have.
func (all forumTopics) checkDetails(t *testing.T, i *env.Pnyx) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(all))
	env.Concurrently(t, env.FillConcurrency, len(keys), func(n int) error {
		topic := all[keys[n]]
		var got object
		path := "/v2/forum-topics/" + keys[n]
		r, err := i.Ask(path, &got)
		switch {
		case err != nil:
			return err
		case !topic.Visible && r.Status == http.StatusNotFound:
			return nil
		case !topic.Visible, r.Status != http.StatusOK:
			return fmt.Errorf("GET %s: got %d of a topic that is visible: %t", path, r.Status, topic.Visible)
		}
		return topic.compareDetail(got)
	})
	linked, hidden := 0, 0
	for _, topic := range all {
		linked += len(topic.related)
		if !topic.Visible {
			hidden++
		}
	}
	t.Logf("%d topics, %d of them hidden, %d links", len(all), hidden, linked)
	if linked == 0 {
		t.Error("got no topic linked to a proposal, want at least one to compare")
	}
}

func (f *forumTopic) compareDetail(got object) error {
	body, _ := got["bodyText"].(string)
	f.summary = got["summary"]
	summary, _ := f.summary.(string)
	score, _ := got["relevanceScore"].(float64)
	f.score = int(score)
	want := f.row()
	want["bodyText"], want["relatedProposals"], want["lastPostAt"] = got["bodyText"], f.related, stamp(f.LastPostedAt)
	want["participants"] = nil
	if f.ParticipantsCount != nil {
		want["participants"] = strconv.Itoa(*f.ParticipantsCount)
	} else if f.Posts == 1 {
		want["participants"] = "1"
	}
	if diff := gocmp.Diff(env.Plain(want), env.Plain(got)); diff != "" {
		return fmt.Errorf("%s %d (-want +got):\n%s", f.host, f.ID, diff)
	}
	switch {
	case (f.cooked() != "") != (body != "") || (body != "") != (summary != ""):
		return fmt.Errorf("%s %d: body %q and summary %q of %q", f.host, f.ID, body, summary, f.cooked())
	case whatPeopleNeverSee.MatchString(body), whatPeopleNeverSee.MatchString(summary), len([]rune(summary)) > 280:
		return fmt.Errorf("%s %d: body %q, summary %q, want short and plain text", f.host, f.ID, body, summary)
	case score < 0 || score > 100 || score != float64(int(score)):
		return fmt.Errorf("%s %d: a score of %v", f.host, f.ID, score)
	}
	return nil
}

// about reports whether a topic is about governance, by its score or its links.
func (f *forumTopic) about() bool { return f.score >= 30 || len(f.related) > 0 }

// checkRelated compares the lists of topics about governance and of all others.
func (all forumTopics) checkRelated(i *env.Pnyx) error {
	counts := map[bool]int{}
	for _, related := range []bool{true, false} {
		rows, err := i.Walk(fmt.Sprintf("/v2/forum-topics?governanceRelated=%t", related), 100)
		if err != nil {
			return err
		}
		for _, row := range rows {
			var got struct{ TopicKey string }
			if err := json.Unmarshal(row, &got); err != nil || all[got.TopicKey].about() != related {
				return fmt.Errorf("%s is listed as related: %t (%w)", row, related, err)
			}
			counts[related]++
		}
	}
	visible := 0
	for _, topic := range all {
		if topic.Visible {
			visible++
		}
	}
	if counts[true]+counts[false] != visible || counts[true] == 0 || counts[false] == 0 {
		return fmt.Errorf("%v topics are listed, want %d, some of either kind", counts, visible)
	}
	return nil
}

// choice is one combination of parameters, and the filter it stands for.
type choice struct {
	query  url.Values
	passes []func(*forumTopic) bool
}

func (c *choice) add(name, value string, passes func(*forumTopic) bool) {
	c.query.Set(name, value)
	c.passes = append(c.passes, passes)
}

// draw combines filters at random.
func (all forumTopics) draw(dice *rand.Rand) *choice {
	keys := slices.Sorted(maps.Keys(all))
	anyOf := func() *forumTopic { return all[keys[dice.IntN(len(keys))]] }
	c := &choice{query: url.Values{}}
	switch dao := anyOf().dao; dice.IntN(6) {
	case 0, 1:
		c.add("daoId", dao, func(f *forumTopic) bool { return f.dao == dao })
	case 2:
		if dice.IntN(3) == 0 {
			c.add("daoId", "nobody", func(*forumTopic) bool { return false })
		}
	}
	if dice.IntN(5) == 0 {
		c.add("provider", "discourse", func(*forumTopic) bool { return true })
	}
	if dice.IntN(3) == 0 {
		related := dice.IntN(3) > 0
		c.add("governanceRelated", strconv.FormatBool(related), func(f *forumTopic) bool { return f.about() == related })
	}
	if dice.IntN(3) == 0 {
		least := anyOf().replies()
		c.add("minReplies", strconv.Itoa(least), func(f *forumTopic) bool { return f.replies() >= least })
	}
	all.drawTimes(c, dice, anyOf().updated(), anyOf().updated())
	return c
}

func (all forumTopics) drawTimes(c *choice, dice *rand.Rand, from, to *time.Time) {
	if from == nil || to == nil {
		return
	}
	if to.Before(*from) {
		from, to = to, from
	}
	if dice.IntN(3) == 0 {
		c.add("updatedFrom", from.Format(time.RFC3339Nano), func(f *forumTopic) bool {
			return f.updated() != nil && !f.updated().Before(*from)
		})
	}
	if dice.IntN(3) == 0 {
		c.add("updatedTo", to.Format(time.RFC3339Nano), func(f *forumTopic) bool {
			return f.updated() != nil && f.updated().Before(*to)
		})
	}
}

// randomWalk walks a list to its end and compares it with the files.
func (all forumTopics) randomWalk(i *env.Pnyx, dice *rand.Rand) func() error {
	c := all.draw(dice)
	order := []string{"", "updatedDesc", "createdDesc", "repliesDesc"}[dice.IntN(4)]
	if order != "" {
		c.query.Set("sort", order)
	}
	limit := 1 + dice.IntN(100)
	if dice.IntN(3) == 0 {
		limit = 1 + dice.IntN(9)
	}
	var chosen []*forumTopic
	for _, topic := range all {
		if topic.Visible && !slices.ContainsFunc(c.passes, func(passes func(*forumTopic) bool) bool { return !passes(topic) }) {
			chosen = append(chosen, topic)
		}
	}
	slices.SortFunc(chosen, func(a, b *forumTopic) int {
		return cmp.Or(compareBy(order, b, a), cmp.Compare(topicKeyOf(b.dao, b.ID), topicKeyOf(a.dao, a.ID)))
	})
	want := make([]json.RawMessage, len(chosen))
	for n, topic := range chosen {
		want[n] = encoded(topic.row())
	}
	return func() error { return i.CheckList("/v2/forum-topics?"+c.query.Encode(), limit, want) }
}

// compareBy compares the sort values of an order. An unknown time precedes every time.
func compareBy(order string, a, b *forumTopic) int {
	switch order {
	case "repliesDesc":
		return cmp.Compare(a.replies(), b.replies())
	case "createdDesc":
		return compareTimes(a.CreatedAt, b.CreatedAt)
	}
	return compareTimes(a.updated(), b.updated())
}

func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(*b)
}
