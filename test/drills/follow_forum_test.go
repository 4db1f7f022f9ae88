package drills

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/forum"
)

const drilledForumHost = "forum.pier.example"

// drilledForum is a forum on which people write, edit, move and delete.
type drilledForum struct {
	*forum.Forum

	mu sync.Mutex
	// topics and replies are the numbers of what is not deleted, and deleted the topics that are.
	topics, replies, deleted []int
}

// categories are the names of the forum's categories, by number.
func (*drilledForum) categories() map[string]string {
	return map[string]string{"1": "Proposals", "2": "Grants"}
}

func newDrilledForum() *drilledForum {
	f := &drilledForum{Forum: forum.New(time.Now)}
	f.AddCategory("Proposals", 0)
	f.AddCategory("Grants", 1)
	for n := range 45 {
		f.topics = append(f.topics, f.AddTopic(1+n%2, fmt.Sprint("Topic ", n+1), "ada", "<p>one</p>", "budget"))
	}
	return f
}

func (*drilledForum) every() time.Duration { return 500 * time.Millisecond }

func (f *drilledForum) change(random *rand.Rand) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	pick := func(of []int) int { return of[random.IntN(len(of))] }
	text := fmt.Sprintf("<p>%d</p>", random.IntN(1<<20))
	switch dice := random.IntN(40); {
	case dice == 0 && len(f.topics) > 30:
		at := random.IntN(len(f.topics))
		f.Delete(f.topics[at])
		f.deleted = append(f.deleted, f.topics[at])
		f.topics = slices.Delete(f.topics, at, at+1)
	case dice < 3:
		f.topics = append(f.topics, f.AddTopic(1+dice%2, "Topic "+text[3:len(text)-4], "eve", text))
	case dice < 6:
		f.EditFirst(pick(f.topics), text)
	case dice < 9:
		f.Move(pick(f.topics), 1+random.IntN(2))
	case dice < 12:
		f.Retitle(pick(f.topics), "Renamed "+text[3:len(text)-4])
	case dice < 14 && len(f.replies) > 0:
		at := random.IntN(len(f.replies))
		f.DeletePost(f.replies[at])
		f.replies = slices.Delete(f.replies, at, at+1)
	default:
		f.replies = append(f.replies, f.Reply(pick(f.topics), fmt.Sprint("user", random.IntN(9)), text))
	}
	return nil
}

func (f *drilledForum) faults(d *followed) []fault {
	return []fault{{"the forum answers from a cache", func() {
		f.Switch(func(s *forum.Switches) { s.Cached = true })
		d.pause(8 * time.Second)
		f.Switch(func(s *forum.Switches) { s.Cached = false })
	}}}
}

type drilledTopic struct{ Title, Category, Posts, Participants, URL, Body string }

func (f *drilledForum) differ(d *followed) error {
	rows, err := d.api.Walk("/v2/forum-topics?daoId=pier", 100)
	if err != nil {
		return err
	}
	got := map[string]drilledTopic{}
	for _, raw := range rows {
		var row governance.ForumTopic
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		id := row.Identity.ExternalID
		if _, twice := got[id]; twice {
			return fmt.Errorf("topic %s is listed twice", id)
		}
		var detail struct{ BodyText, Participants string }
		if _, err := d.api.Read("/v2/forum-topics/"+string(row.TopicKey), &detail); err != nil {
			return err
		}
		category := ""
		if row.Category != nil {
			category = *row.Category
		}
		got[id] = drilledTopic{row.Title, category, string(row.Posts), detail.Participants, row.URL, detail.BodyText}
	}
	want := map[string]drilledTopic{}
	for _, topic := range f.Truth(drilledForumHost) {
		want[topic.ExternalID] = drilledTopic{
			topic.Title, f.categories()[topic.CategoryID], fmt.Sprint(topic.Posts), fmt.Sprint(*topic.Participants), topic.URL(),
			strings.NewReplacer("<p>", "", "</p>", "").Replace(topic.BodyHTML),
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("-forum +API\n%s", diff)
	}
	return nil
}

// sweepNow makes the waits of pollers that read everything again seem to be over: a day for edits, moves and
// deletions, and an hour until what is gone is withdrawn.
func (f *drilledForum) sweepNow(d *followed) {
	d.tb.Helper()
	d.later("sweep")
	env.Within(d.tb, settleTimeout, func() error {
		position := strings.Join(d.followers[0].Column("SELECT position FROM follows FINAL WHERE poller = 'missing'"), "")
		var held []int
		for _, id := range f.deleted {
			if !strings.Contains(position, fmt.Sprintf(`"%d":`, id)) {
				held = append(held, id)
			}
		}
		swept := d.followers[0].Column("SELECT position FROM follows FINAL WHERE poller = 'sweep' AND upstream LIKE 'discourse:%' AND position LIKE '%\"swept\":\"2020%'")
		if len(swept) > 0 {
			return errors.New("the forum is not swept yet")
		}
		if len(held) > 0 {
			return f.stillShown(d, held)
		}
		return nil
	})
	d.later("missing")
}

// stillShown reports whether one of some deleted topics is still shown.
func (*drilledForum) stillShown(d *followed, ids []int) error {
	rows, err := d.api.Walk("/v2/forum-topics?daoId=pier", 100)
	for _, raw := range rows {
		var row governance.ForumTopic
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		if slices.Contains(ids, mustNumber(row.Identity.ExternalID)) {
			return fmt.Errorf("deleted topic %s is shown and not missed", row.Identity.ExternalID)
		}
	}
	return err
}

func mustNumber(text string) (n int) {
	_, _ = fmt.Sscan(text, &n) // 0 is no topic
	return n
}
