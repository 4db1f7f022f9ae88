package forum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

// commitSize is the number of fetched topics that are committed together.
const commitSize = 10

type fetched struct {
	// gone are topics that are deleted, or so the forum says.
	gone []string
	// old are the topics whose answers came from the forum's cache and may be a minute old, with the number of the
	// newest post in each.
	old map[string]fetch.Count
	// failed are the topics that the forum failed to answer.
	failed map[string]bool
}

// lacks reports whether a topic is to be fetched again: the forum's cache was behind, or the forum failed.
func (f fetched) lacks(id string) bool {
	_, isOld := f.old[id]
	return isOld || f.failed[id]
}

// fetch fetches topics whole, with a pause between two, and commits their records. A topic that the forum fails to
// answer is rejected: it holds up no other, and is asked for again.
func (l *pollers) fetch(ctx context.Context, ids []string, pause time.Duration) (fetched, error) {
	found, failed := fetched{old: map[string]fetch.Count{}, failed: map[string]bool{}}, false
	for chunk := range slices.Chunk(ids, commitSize) {
		var records []record.Record
		var private []string
		for _, id := range chunk {
			answer, err := l.topic(ctx, id)
			if !failed && l.isOfTopic(ctx, err) {
				failed, found.failed[id] = true, true // a second one in a row is the forum's
				l.journal.Reject(l.Sources()[0], id, err)
				continue
			}
			if err != nil {
				return found, err
			}
			failed = false
			switch answer.status {
			case http.StatusForbidden:
				private = append(private, id)
			case http.StatusNotFound, http.StatusGone:
				found.gone = append(found.gone, id)
			default:
				records = l.read(source.DiscourseTopic, id, answer.text, records)
			}
			if answer.old {
				found.old[id] = answer.highest
			}
			if err := l.Clock.Wait(ctx, pause); err != nil {
				return found, err
			}
		}
		hidden, err := l.take(ctx, private, func(t *record.Topic) { *t = *t.Withheld() })
		if err != nil {
			return found, err
		}
		if err := l.journal.Commit(ctx, append(records, hidden...)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// isOfTopic reports whether an error is of the topic that was asked for: the forum fails to answer it, or answers
// something else while it answers what it is.
func (l *pollers) isOfTopic(ctx context.Context, err error) bool {
	refused, is := errors.AsType[*fetch.StatusError](err)
	switch {
	case is && refused.Status == http.StatusInternalServerError, errors.Is(err, errElsewhere):
		return true
	case is && refused.Status < http.StatusInternalServerError, errors.Is(err, errNoForum), errors.Is(err, fetch.ErrTooLarge):
		_, err = l.about(ctx)
		return err == nil
	}
	return false
}

func (l *pollers) read(format source.Format, id string, text []byte, records []record.Record) []record.Record {
	if read := l.journal.Read(follow.Asked{Format: format, Source: l.Sources()[0], ItemID: id}, text); read != nil {
		records = append(records, read)
	}
	return records
}

// take returns the held records of topics with a change, without those that it leaves as they are.
func (l *pollers) take(ctx context.Context, ids []string, change func(*record.Topic)) ([]record.Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	held, err := records.HeldTopics(ctx, l.journal.Warehouse, l.Name, ids, true)
	var records []record.Record
	for i := range held {
		topic := &held[i]
		visible, withdrawn, likes, views := topic.Visible, topic.Withdrawn, topic.Likes, topic.Views
		change(topic)
		if topic.Visible != visible || topic.Withdrawn != withdrawn || topic.Likes != likes || topic.Views != views {
			records = append(records, topic)
		}
	}
	return records, err
}

type topicAnswer struct {
	status int
	text   []byte
	// highest is the number of the newest post; old is true of an answer from the forum's cache.
	highest fetch.Count
	old     bool
}

var errElsewhere = errors.New("the topic's address leads elsewhere")

var topicPath = regexp.MustCompile(`/t/(?:[^/]+/)?(\d+)(?:/\d+)?(?:\.json)?$`)

// topic asks for a topic. One whose address leads to another topic was merged into that, and is gone.
func (f *Forum) topic(ctx context.Context, id string) (topicAnswer, error) {
	var said struct {
		ID      fetch.Count     `json:"id"`
		Highest fetch.Count     `json:"highest_post_number"`
		Posts   json.RawMessage `json:"post_stream"`
	}
	answer, err := f.get(ctx, "/t/"+id+".json", &said)
	at := topicPath.FindStringSubmatch(answer.Path)
	switch {
	case answer.Path != "" && at == nil:
		return topicAnswer{}, fmt.Errorf("%w: topic %s of %s, %s", errElsewhere, id, f.Name, fetch.Clip(answer.Path))
	case at != nil && at[1] != id:
		return topicAnswer{status: http.StatusGone}, nil
	case err != nil:
		return topicAnswer{}, err
	case answer.Status == http.StatusOK && (text(said.ID) != id || len(said.Posts) == 0):
		return topicAnswer{}, fmt.Errorf("answer of %s to topic %s %w", f.Name, id, errNoForum)
	}
	return topicAnswer{answer.Status, answer.Body, said.Highest, answer.Header.Get("X-Discourse-Cached") == "true"}, nil
}

func text(number fetch.Count) string { return strconv.FormatUint(uint64(number), 10) }
