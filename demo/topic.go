package demo

import (
	"html"
	"strconv"
	"strings"
	"time"
)

// Rhythms of forum topics, by their number in the forum.
const (
	everyInvisible = 31
	everyHeadless  = 37 // no details
	everyPostless  = 41 // no post stream
	everyPopular   = 12
)

// milliseconds is how a forum writes times.
const milliseconds = "2006-01-02T15:04:05.000Z"

// category is a line of categories.ndjson.gz.
type category struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Slug string `json:"slug"`
}

// categories returns those of every forum; families and talks name them.
func categories() []category {
	names := words("General|Announcements|Governance|Proposals|Grants|Treasury|Delegates|Elections")
	all := make([]category, len(names))
	for i, name := range names {
		all[i] = category{ID: i + 4, Name: name, Slug: slugOf(name)}
	}
	return all
}

// topic is a line of topics.ndjson.gz.
type topic struct {
	ID           int          `json:"id"`
	Title        string       `json:"title"`
	Slug         string       `json:"slug"`
	CategoryID   int          `json:"category_id"`
	Tags         []string     `json:"tags"`
	PostsCount   int          `json:"posts_count"`
	ReplyCount   int          `json:"reply_count"`
	Views        int          `json:"views"`
	LikeCount    int          `json:"like_count"`
	CreatedAt    string       `json:"created_at"`
	LastPostedAt string       `json:"last_posted_at"`
	Closed       bool         `json:"closed"`
	Archived     bool         `json:"archived"`
	Visible      bool         `json:"visible"`
	Details      *details     `json:"details"`
	PostStream   *postsOfPage `json:"post_stream"`
}

type details struct {
	CreatedBy user `json:"created_by"`
}

type user struct {
	Username string `json:"username"`
}

type postsOfPage struct {
	Posts []post `json:"posts"`
}

type post struct {
	Cooked string `json:"cooked"`
}

// discuss opens a topic on a proposal and states its address in the proposal. Some
// proposals were never discussed; of the others some name the topic, some are
// linked from it, and most are both.
func (g *generator) discuss(p *proposal) error {
	if p.follows != nil {
		p.discussion = p.follows.discussion
		return nil
	}
	if p.dao.forum == "" || p.serial%6 == 5 {
		return nil
	}
	d := g.dice
	d.seed(keyOf(p.key, forTopic))
	stage := pick(d, []string{"RFC", "Temperature check", "Discussion", ""})
	title := p.subject.title
	if stage != "" {
		title = "[" + stage + "] " + title
	}
	t := g.newTopic(d, p.dao, title, p.subject.family.category)
	t.Tags = tagsOf(p.subject.family.tag, stage)
	first := p.created - 2*day - d.Int64N(16*day)
	g.enliven(d, t, first, min(g.now, first+d.Int64N(p.end-first)))
	cooked := p.subject.text.html() + g.aside(d, p.dao)
	if p.serial%9 != 4 {
		cooked += document{{links: []link{p.linkFrom(d)}}}.html()
	}
	if p.serial%7 != 3 {
		p.discussion = addressOfTopic(d, p.dao, t)
	}
	return g.publish(t, cooked, g.words.nouns.username(d))
}

// chat opens a topic that is not about one proposal.
func (g *generator) chat(dao *dao, near *proposal) error {
	if dao.forum == "" || near.index%2 == 1 {
		return nil
	}
	d := g.dice
	d.seed(keyOf(near.key, forChat))
	talk := pick(d, g.words.talks)
	at := near.created - d.Int64N(10*day)
	words := g.words.drawSlots(d, dao, time.Unix(at, 0).UTC())
	t := g.newTopic(d, dao, capital(words.fill(pick(d, talk.titles))), talk.category)
	t.Tags = tagsOf(talk.tag, "")
	g.enliven(d, t, at, min(g.now, at+d.Int64N(40*day)))
	text := document{{
		paragraphs: words.fillAll(some(d, d.between(2, len(talk.sentences)), talk.sentences)),
		items:      words.fillAll(some(d, 2*d.IntN(3), talk.items)),
	}}
	if d.roll(3) {
		text[0].links = []link{near.linkFrom(d)}
	}
	return g.publish(t, text.html()+g.aside(d, dao), g.words.nouns.username(d))
}

// newTopic numbers a topic in its forum.
func (g *generator) newTopic(d dice, dao *dao, title, in string) *topic {
	dao.topics += d.between(1, 5)
	t := &topic{ID: dao.topics, Title: title, Slug: slugOf(title), Visible: dao.topics%everyInvisible != 0}
	for _, category := range g.categories {
		if category.Name == in {
			t.CategoryID = category.ID
		}
	}
	return t
}

// enliven draws how many took part in a topic, and when.
func (g *generator) enliven(d dice, t *topic, first, last int64) {
	if d.roll(everyPopular) {
		t.PostsCount = 30
	}
	t.PostsCount += d.heavy(4)
	t.ReplyCount = d.IntN(t.PostsCount)
	t.Views = t.PostsCount*d.between(15, 90) + d.IntN(50)
	t.LikeCount = t.PostsCount * d.IntN(5)
	t.CreatedAt = milli(d, first)
	t.LastPostedAt = t.CreatedAt
	if t.PostsCount > 1 {
		t.LastPostedAt = milli(d, max(first+1, last))
	}
	t.Closed = g.now-last > 300*day && d.roll(2)
	t.Archived = t.Closed && t.ID%3 == 0
}

// publish writes a topic with its first post.
func (g *generator) publish(t *topic, cooked, author string) error {
	if t.ID%everyHeadless != 0 {
		t.Details = &details{user{author}}
	}
	if t.ID%everyPostless != 0 {
		t.PostStream = &postsOfPage{[]post{{strings.TrimSuffix(cooked, "\n")}}}
	}
	g.summary.Topics++
	return g.topics.record(t)
}

// linkFrom links the proposal in one of the forms in use.
func (p *proposal) linkFrom(d dice) link {
	switch {
	case p.onChain:
		return link{"Vote on chain", p.link}
	case d.roll(2):
		return link{"Vote on Snapshot", "https://snapshot.box/#/s:" + p.space + "/proposal/" + p.id}
	}
	return link{"Snapshot vote", p.link}
}

// addressOfTopic writes a topic's address in one of the forms in use.
func addressOfTopic(d dice, dao *dao, t *topic) string {
	address := "https://" + dao.forum + "/t/" + t.Slug + "/" + strconv.Itoa(t.ID)
	switch d.IntN(8) {
	case 0:
		return address + "/1"
	case 1:
		return address + "/"
	case 2:
		return address + "?u=" + slugOf(dao.root)
	}
	return address
}

// aside adds what forum posts have besides text: quotes, pictures and mentions.
func (g *generator) aside(d dice, dao *dao) string {
	name := g.words.nouns.username(d)
	switch d.IntN(5) {
	case 0:
		return "<blockquote>\n<p>" + html.EscapeString(pick(d, g.words.reasons)) + "</p>\n</blockquote>\n"
	case 1:
		picture := "https://" + dao.forum + "/uploads/default/original/1X/" + strconv.FormatUint(d.Uint64(), 16) + ".png"
		return `<p><img src="` + picture + `" alt="chart" width="690" height="388"></p>` + "\n"
	case 2:
		return `<p>Thanks to <a class="mention" href="/u/` + name + `">@` + name + "</a> for the review.</p>\n"
	}
	return ""
}

func tagsOf(tags ...string) []string {
	kept := []string{}
	for _, tag := range tags {
		if tag != "" {
			kept = append(kept, slugOf(tag))
		}
	}
	return kept
}

// username makes a forum name of somebody's name.
func (n nouns) username(d dice) string {
	name := n.person(d)
	if d.roll(3) {
		return strings.ReplaceAll(name, " ", "")
	}
	return strings.ToLower(strings.ReplaceAll(name, " ", "."))
}

func milli(d dice, unix int64) string {
	return time.UnixMilli(unix*1000 + d.Int64N(1000)).UTC().Format(milliseconds)
}
