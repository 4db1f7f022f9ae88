package demo

import (
	"html"
	"strconv"
	"strings"
	"time"
)

// Periods of the defects of forum topics, by their number in the forum.
const (
	invisiblePeriod = 31
	noDetailsPeriod = 37
	noPostsPeriod   = 41
)

// popularOdds is n if one topic in n has at least 30 posts.
const popularOdds = 12

// milliseconds is the time format of Discourse.
const milliseconds = "2006-01-02T15:04:05.000Z"

// category is a line of categories.ndjson.gz.
type category struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// newCategories numbers the categories that every forum has.
func newCategories(names []string) []category {
	all := make([]category, len(names))
	for i, name := range names {
		all[i] = category{ID: i + 4, Name: name, Slug: slugOf(name)}
	}
	return all
}

// topic is a line of topics.ndjson.gz.
type topic struct {
	ID           int           `json:"id"`
	Title        string        `json:"title"`
	Slug         string        `json:"slug"`
	CategoryID   int           `json:"category_id"`
	Tags         []string      `json:"tags"`
	PostsCount   int           `json:"posts_count"`
	ReplyCount   int           `json:"reply_count"`
	Views        int           `json:"views"`
	LikeCount    int           `json:"like_count"`
	CreatedAt    string        `json:"created_at"`
	LastPostedAt string        `json:"last_posted_at"`
	Closed       bool          `json:"closed"`
	Archived     bool          `json:"archived"`
	Visible      bool          `json:"visible"`
	Details      *topicDetails `json:"details"`
	PostStream   *postStream   `json:"post_stream"`
}

type topicDetails struct {
	CreatedBy forumUser `json:"created_by"`
}

type forumUser struct {
	Username string `json:"username"`
}

type postStream struct {
	Posts []post `json:"posts"`
}

type post struct {
	Cooked string `json:"cooked"`
}

// writeDiscussion writes the forum topic about a proposal and sets p.discussion to
// its URL. Some proposals have no topic. Of the others some state the URL, some are
// linked from the topic, and most are both.
func (g *generator) writeDiscussion(p *proposal) {
	if p.offChainVote != nil {
		p.discussion = p.offChainVote.discussion
		return
	}
	if p.dao.forum == "" || p.serial%6 == 5 {
		return
	}
	rng := g.rng
	rng.seed(deriveKey(p.key, streamTopic))
	stage := pick(rng, []string{"RFC", "Temperature check", "Discussion", ""})
	title := p.content.title
	if stage != "" {
		title = "[" + stage + "] " + title
	}
	t := g.newTopic(rng, p.dao, title, p.content.template.Category)
	t.Tags = tagsOf(p.content.template.Tag, stage)
	first := p.created - 2*day - rng.Int64N(16*day)
	g.drawActivity(rng, t, first, min(g.now, first+rng.Int64N(p.end-first)))
	cooked := p.content.text.html() + g.drawExtras(rng, p.dao)
	if p.serial%9 != 4 {
		cooked += document{{links: []link{p.drawLink(rng)}}}.html()
	}
	if p.serial%7 != 3 {
		p.discussion = drawTopicURL(rng, p.dao, t)
	}
	g.writeTopic(t, cooked, g.texts.words.username(rng))
}

// writeUnrelatedTopic writes a topic that is not about one proposal, created shortly
// before near. Every second proposal has such a topic.
func (g *generator) writeUnrelatedTopic(dao *dao, near *proposal) {
	if dao.forum == "" || near.index%2 == 1 {
		return
	}
	rng := g.rng
	rng.seed(deriveKey(near.key, streamUnrelatedTopic))
	template := pick(rng, g.texts.topics)
	at := near.created - rng.Int64N(10*day)
	values := g.texts.words.drawPlaceholders(rng, dao, time.Unix(at, 0).UTC())
	title := capitalize(values.expand(pick(rng, template.Titles)))
	t := g.newTopic(rng, dao, title, template.Category)
	t.Tags = tagsOf(template.Tag, "")
	g.drawActivity(rng, t, at, min(g.now, at+rng.Int64N(40*day)))
	paragraphs := sample(rng, rng.between(2, len(template.Paragraphs)), template.Paragraphs)
	items := sample(rng, 2*rng.IntN(3), template.Items)
	text := document{{
		paragraphs: values.expandAll(paragraphs),
		items:      values.expandAll(items),
	}}
	if rng.oneIn(3) {
		text[0].links = []link{near.drawLink(rng)}
	}
	g.writeTopic(t, text.html()+g.drawExtras(rng, dao), g.texts.words.username(rng))
}

// newTopic returns a topic with the next number of its forum.
func (g *generator) newTopic(rng random, dao *dao, title, categoryName string) *topic {
	dao.lastTopicID += rng.between(1, 5)
	t := &topic{
		ID: dao.lastTopicID, Title: title, Slug: slugOf(title),
		Visible: dao.lastTopicID%invisiblePeriod != 0,
	}
	for _, category := range g.categories {
		if category.Name == categoryName {
			t.CategoryID = category.ID
		}
	}
	return t
}

// drawActivity draws the counters of a topic whose posts span first to last.
func (g *generator) drawActivity(rng random, t *topic, first, last int64) {
	if rng.oneIn(popularOdds) {
		t.PostsCount = 30
	}
	t.PostsCount += rng.heavyTailed(4)
	t.ReplyCount = rng.IntN(t.PostsCount)
	t.Views = t.PostsCount*rng.between(15, 90) + rng.IntN(50)
	t.LikeCount = t.PostsCount * rng.IntN(5)
	t.CreatedAt = drawMillisecond(rng, first)
	t.LastPostedAt = t.CreatedAt
	if t.PostsCount > 1 {
		t.LastPostedAt = drawMillisecond(rng, max(first+1, last))
	}
	t.Closed = g.now-last > 300*day && rng.oneIn(2)
	t.Archived = t.Closed && t.ID%3 == 0
}

func (g *generator) writeTopic(t *topic, cooked, author string) {
	if t.ID%noDetailsPeriod != 0 {
		t.Details = &topicDetails{forumUser{author}}
	}
	if t.ID%noPostsPeriod != 0 {
		t.PostStream = &postStream{[]post{{strings.TrimSuffix(cooked, "\n")}}}
	}
	g.summary.Topics++
	g.topics.write(t)
}

func (p *proposal) drawLink(rng random) link {
	switch {
	case p.onChain:
		return link{"Vote on chain", p.link}
	case rng.oneIn(2):
		return link{"Vote on Snapshot", "https://snapshot.box/#/s:" + p.space + "/proposal/" + p.id}
	}
	return link{"Snapshot vote", p.link}
}

func drawTopicURL(rng random, dao *dao, t *topic) string {
	url := "https://" + dao.forum + "/t/" + t.Slug + "/" + strconv.Itoa(t.ID)
	switch rng.IntN(8) {
	case 0:
		return url + "/1"
	case 1:
		return url + "/"
	case 2:
		return url + "?u=" + slugOf(dao.shortName)
	}
	return url
}

// drawExtras draws what forum posts contain besides text: a quote, an image or a
// mention. In two of five cases it returns nothing.
func (g *generator) drawExtras(rng random, dao *dao) string {
	name := g.texts.words.username(rng)
	switch rng.IntN(5) {
	case 0:
		reason := html.EscapeString(pick(rng, g.texts.reasons))
		return "<blockquote>\n<p>" + reason + "</p>\n</blockquote>\n"
	case 1:
		file := strconv.FormatUint(rng.Uint64(), 16) + ".png"
		url := "https://" + dao.forum + "/uploads/default/original/1X/" + file
		return `<p><img src="` + url + `" alt="chart" width="690" height="388"></p>` + "\n"
	case 2:
		mention := `<a class="mention" href="/u/` + name + `">@` + name + "</a>"
		return "<p>Thanks to " + mention + " for the review.</p>\n"
	}
	return ""
}

// tagsOf returns the slugs of the tags that are not empty.
func tagsOf(tags ...string) []string {
	slugs := []string{}
	for _, tag := range tags {
		if tag != "" {
			slugs = append(slugs, slugOf(tag))
		}
	}
	return slugs
}

// drawMillisecond formats a time with a random millisecond.
func drawMillisecond(rng random, unix int64) string {
	return time.UnixMilli(unix*1000 + rng.Int64N(1000)).UTC().Format(milliseconds)
}
