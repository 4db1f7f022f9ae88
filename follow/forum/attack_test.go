package forum_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
)

// tamper puts a forum in front of the fixture's that may lie.
func (f *fixture) tamper() *env.Tamper {
	f.t.Helper()
	lying, address := env.StartTamper(f.t, http.HandlerFunc(f.serve))
	f.address = address
	f.restart()
	return lying
}

func TestAttackAnAbsurdPostDoesNotStopTheLog(t *testing.T) {
	t.Parallel()
	for _, lasts := range []bool{false, true} {
		t.Run(fmt.Sprintf("stays %t", lasts), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			lying := f.tamper()
			f.AddTopic(1, "First", "ada", "<p>text</p>")
			f.Poll(order()...)
			lying.Change(func(asked string, answer []byte) []byte {
				absurd := fmt.Sprintf(`"latest_posts":[{"id":%d,"topic_id":1,"post_number":1,"created_at":"9999-01-01T00:00:00Z"},`, uint64(math.MaxUint64))
				return []byte(strings.Replace(string(answer), `"latest_posts":[`, absurd, 1))
			})
			f.Poll("log")
			f.clock.Step(2 * time.Minute)
			f.Poll("log")
			if !lasts {
				lying.Relent()
				f.Poll("log")
			}
			id := f.AddTopic(1, "Second", "ada", "<p>text</p>")
			f.clock.Step(2 * time.Minute)
			f.Poll("log")
			env.Want(t, "Second", f.topic(id).Title)
			if at := f.cursor("log").UpstreamAt; at != nil && at.After(f.clock.Now().Add(time.Hour)) {
				t.Errorf("got %s as the time up to which all is read", at)
			}
		})
	}
}

func TestAttackATimeThatIsNoneHoldsUpNoPoller(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	times := map[string]*regexp.Regexp{"/latest.json": regexp.MustCompile(`"bumped_at":"[^"]*"`), "/posts.json": regexp.MustCompile(`"created_at":"[^"]*"`)}
	f.tamper().Change(func(asked string, answer []byte) []byte {
		path, _, _ := strings.Cut(strings.Fields(asked)[0], "?")
		if of := times[path]; of != nil && of.Match(answer) {
			first := of.FindIndex(answer)
			key, _, _ := strings.Cut(string(answer[first[0]:]), ":")
			return slices.Concat(answer[:first[0]], []byte(key+`:"+10000-01-01T00:00:00Z"`), answer[first[1]:])
		}
		return answer
	})
	f.addTopics(3, 0)
	f.Poll(order()...)
	f.clock.Step(25 * time.Hour)
	f.AddTopic(1, "Second", "ada", "<p>text</p>")
	f.Poll(order()...)
	f.wantTruth()
}

func TestAttackABumpInTheFutureHidesNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.tamper().Change(func(_ string, answer []byte) []byte {
		return regexp.MustCompile(`("bumped_at":)"[^"]*"([^{}]*"id":40,)`).ReplaceAll(answer, []byte(`$1"2099-01-01T00:00:00Z"$2`))
	})
	f.addTopics(40, time.Hour)
	f.clock.Step(60 * 24 * time.Hour)
	f.Poll(order()...)
	f.EditFirst(5, "<p>two</p>")
	f.Bump(5)
	f.clock.Step(2 * time.Minute)
	f.Poll("watch")
	env.Want(t, "<p>two</p>", f.topic(5).BodyHTML)
}

func TestAttackNestedCategoriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, levels := range []int{20, 5000} {
		f := newFixture(t)
		f.tamper().Change(func(_ string, _ []byte) []byte {
			nested := strings.Repeat(`{"id":1,"name":"a","slug":"a","subcategory_list":[`, levels) + strings.Repeat("]}", levels)
			return []byte(`{"category_list":{"categories":[` + nested + `]}}`)
		})
		f.FailPoll("categories", "")
	}
}

func TestAttackTopicsThatNeverEndAreLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddTopic(1, "First", "ada", "<p>text</p>")
	f.tamper().Answer(`{"topic_list":{"more_topics_url":"/latest?page=9","topics":[{"id":1,"title":"First","category_id":1,"posts_count":1}]}}`, "latest.json")
	cursor := f.cursor("backfill")
	cursor.Position, cursor.State = `{"page":49990}`, governance.SourceBackfilling
	env.MustDo(t, f.Journal.Commit(t.Context(), nil, cursor))
	pages := 0
	for more := true; more; pages++ {
		var err error
		if more, err = f.Pollers["backfill"].Run(t.Context()); err != nil && !errors.Is(err, follow.ErrEndless) {
			t.Fatal(err)
		}
	}
	if pages > 20 {
		t.Errorf("got %d pages more", pages)
	}
}

func TestAttackPostsThatStateNothingOfWhatTheSweepFindsAreFailing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lying := f.tamper()
	f.AddTopic(1, "First", "ada", "<p>text</p>")
	f.Poll(order()...)
	lying.Answer(`{"latest_posts":[]}`, "/posts.json")
	f.AddTopic(1, "Unsaid", "ada", "<p>text</p>")
	f.clock.Step(25 * time.Hour)
	f.Poll("sweep", "log")
	if cursor := f.cursor("log"); cursor.State != governance.SourceFailing || cursor.Error == "" {
		t.Errorf("got %s, %q, want failing and why", cursor.State, cursor.Error)
	}
	lying.Relent()
	f.Poll("log")
	polled.WantState(t, governance.SourceLive, "", f.cursor("log"))
}

func TestAttackWhatIsAnsweredOfOneTopicHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"another topic": func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"id":9,"post_stream":{}}`)) },
		"a field twice": func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"id":2,"id":2,"post_stream":{}}`)) },
		"a page of a network": func(w http.ResponseWriter) {
			http.Error(w, "<html>Sorry, you have been blocked</html>", http.StatusForbidden)
		},
		"too much": func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 33<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.addTopics(3, 0)
			var honest atomic.Bool
			_, f.address = env.StartTamper(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/t/2.json" || honest.Load() {
					f.serve(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				answer(w)
			}))
			f.restart()
			f.Poll("backfill", "watch", "log")
			env.Want(t, 2, len(f.shown()), "topics", "the two others")
			env.Want(t, 1, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected")
			honest.Store(true)
			f.Poll("watch")
			f.wantTruth()
			env.Want(t, 0, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected", "none that was read since")
		})
	}
}

func TestAttackPagesThatAreAllTheSameAreLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(40, 0)
	_, f.address = env.StartTamper(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "page=", "p=") // as a cache that tells pages not apart
		f.serve(w, r)
	}))
	f.restart()
	before := f.Requests("/latest.json")
	env.WantError(t, follow.ErrEndless, f.TryPoll(t.Context(), "backfill"), "the same page again")
	env.Want(t, 2, f.Requests("/latest.json")-before, "pages")
	env.WantError(t, follow.ErrEndless, f.TryPoll(t.Context(), "backfill"), "the same page again, later")
	env.Want(t, 3, f.Requests("/latest.json")-before, "pages after another attempt")
}

func TestAttackAnEmptyPageInTheMiddleIsNotTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(70, time.Second)
	f.tamper().Answer(`{"topic_list":{"more_topics_url":"/latest?page=2","topics":[]}}`, "order=created&page=1")
	f.FailPoll("backfill", "")
	f.tamper()
	f.Poll("backfill")
	f.wantTruth()
}
