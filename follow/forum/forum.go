// Package forum follows a Discourse forum.
//
// A forum has no log of changes. New posts are read by their ids, changed topics are found in the list of latest
// activity, and a daily sweep of all topics finds the rest: edits, moves, deletions. Every topic that has changed
// is fetched whole and becomes a record; a poller's cursor moves when the records are committed.
package forum

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Forum is a followed forum.
type Forum struct {
	// Name is the forum's host name: the id of its source.
	Name string
	// Host is where the forum is asked, at the Pace of the key.
	Host *fetch.Host
	// Key and User are an API key and its user; empty for a public forum, whose answers may be a minute old.
	Key, User string
	// AddressField is the user field that states an address, whose voter is named after the user; empty for none.
	AddressField string
	// Clock is nil for the system's.
	Clock *clock.Clock
}

// ID implements follow.Upstream.
func (f *Forum) ID() string { return "discourse:" + f.Name }

// Sources implements follow.Upstream.
func (f *Forum) Sources() []record.SourceRef {
	return []record.SourceRef{{Provider: governance.Discourse, ID: f.Name}}
}

// The intervals of the pollers. The last looks every few minutes whether something is due.
const (
	logInterval        = 30 * time.Second
	watchInterval      = time.Minute
	categoriesInterval = time.Hour
	dueInterval        = 5 * time.Minute
)

// Pace is how often a forum may be asked. Discourse allows an address 50 requests in 10 s and 200 a minute, and all
// administrators' keys together 60 a minute.
func Pace(keyed bool) fetch.Pace {
	if keyed {
		return fetch.Pace{Requests: 50, Burst: 5, Per: time.Minute}
	}
	return fetch.Pace{Requests: 90, Burst: 10, Per: time.Minute}
}

// pause is between two requests of a poller that is in no hurry. It leaves a third of the pace to the others.
func (f *Forum) pause() time.Duration { return f.Host.Interval() * 3 / 2 }

// pollers is the state that the pollers share while the forum is led.
type pollers struct {
	*Forum

	journal *follow.Journal
	// seen is what the first page of latest activity said last, by topic.
	seen map[string]listedState
	// listed has the last page that was read, by order.
	listed sync.Map
	// swept are the topics that the sweep under way has seen, and page is its next page.
	swept      []string
	sweepBegan time.Time
	page       int
	// absurd is the id of the last refused post. missed counts what sweeps found since new posts were seen.
	absurd fetch.Count
	missed atomic.Uint64
	// queued is what the sweep fetches next; nil for nothing.
	queued *queued

	// restricted are the categories that not everybody may read; nil until they were read.
	restricted atomic.Pointer[map[string]bool]

	// missing guards the cursor of poller missing, to which all pollers add.
	missing sync.Mutex
}

// Pollers implements follow.Upstream.
func (f *Forum) Pollers(journal *follow.Journal) []follow.Poller {
	l := &pollers{Forum: f, journal: journal, seen: map[string]listedState{}}
	all := []follow.Poller{
		{Name: pollerLog, Interval: logInterval, Run: l.readPosts},
		{Name: pollerWatch, Interval: watchInterval, Run: l.watchLatest},
		{Name: pollerCategories, Interval: categoriesInterval, Run: l.readCategories},
		{Name: pollerBackfill, Interval: categoriesInterval, Run: l.backfill},
		{Name: pollerSweep, Interval: dueInterval, Run: l.sweep},
		{Name: pollerMissing, Interval: dueInterval, Run: l.lookForMissing},
		{Name: follow.PollerNames, Interval: categoriesInterval, Run: l.readNames},
	}
	for i := range all {
		all[i].Source = f.Sources()[0]
	}
	return all
}

const (
	pollerLog        = "log"
	pollerWatch      = "watch"
	pollerCategories = "categories"
	pollerBackfill   = "backfill"
	pollerSweep      = "sweep"
	pollerMissing    = "missing"
)

func (l *pollers) cursor(poller string, position any) records.FollowCursor {
	return l.journal.At(l.Sources()[0], poller, position)
}

func (l *pollers) move(
	ctx context.Context, records []record.Record, cursor records.FollowCursor, position any,
) error {
	cursor.SetPosition(position)
	return l.journal.Commit(ctx, records, cursor)
}

var errNoForum = errors.New("is not the JSON of a Discourse forum")

// get asks for a path and decodes the answer. What a network in front answers in the forum's place is an error.
func (f *Forum) get(ctx context.Context, path string, into any) (fetch.Response, error) {
	header := http.Header{"Accept": {"application/json"}}
	if f.Key != "" {
		header["Api-Key"], header["Api-Username"] = []string{f.Key}, []string{f.User}
	}
	answer, err := f.Host.Do(ctx, fetch.Request{Method: http.MethodGet, Path: path, Header: header, Accepts: refusal})
	if err != nil {
		return answer, err
	}
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return answer, fmt.Errorf("answer of %s to %s (%q) %w", f.Name, path, kind, errNoForum)
	}
	if err := fetch.Decode(answer.Body, into); err != nil {
		return answer, fmt.Errorf("answer of %s to %s %w: %w", f.Name, path, errNoForum, err)
	}
	return answer, nil
}

// refusal reports whether an answer is the forum's own word that a topic is gone or private.
func refusal(status int, body []byte) bool {
	switch status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		var said struct {
			Errors []string `json:"errors"`
		}
		return fetch.Decode(body, &said) == nil && len(said.Errors) > 0
	}
	return false
}
