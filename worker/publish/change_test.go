package publish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestChangesComeAfterTheListsThatShowThem(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.append([]record.Record{&record.DAO{ID: "dao", Name: "DAO", Sources: []record.SourceRef{{Provider: governance.Discourse, ID: "forum.org"}}}})
	e.step()
	for name, cutOff := range map[string]func(){
		"in one go":                func() {},
		"cut off after a proposal": func() { e.dieAfter(0) },
		"cut off after its topics": e.dieAfterTopics,
	} {
		key := e.propose(name, "space-0", false, &record.Topic{Host: "forum.org", ExternalID: name, Title: name, Slug: "slug", Posts: 1, Visible: true})
		want := []string{
			"proposal " + string(key),
			"topic " + string(governance.Identity{DAOID: "dao", Provider: governance.Discourse, ExternalID: name}.TopicKey()),
		}
		listed := e.noteListed()
		cutOff()
		e.step()
		env.WantSame(t, fmt.Sprint(name, " ", "rows", " ", "after their lists"), want, slices.Sorted(maps.Keys(listed)))
	}
}

// Two DAOs state a forum: the first in order of ids has it, and the other one has it no more.
func TestADAOLosesAForum(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	forum := []record.SourceRef{{Provider: governance.Discourse, ID: "forum.org"}}
	e.append([]record.Record{&record.DAO{ID: "b", Name: "B", Sources: forum}, &record.Topic{Host: "forum.org", ExternalID: "1", Posts: 1, Visible: true}})
	e.step()
	e.append([]record.Record{&record.DAO{ID: "a", Name: "A", Sources: forum}})
	e.step()
	for id, want := range map[string][]governance.Provider{"a": {governance.Discourse}, "b": {}} {
		var detail governance.DAODetail
		view := env.Must(e.publisher.Store.View(t.Context(), cache.DAODetailKey(id)))(t)
		env.MustDo(t, view.Decode(&detail))
		env.WantSame(t, id, want, detail.SourceTypes)
	}
}

// A DAO without sources is one, and has the name that its record states last, also where a batch of ballots comes along.
func TestADAOWithoutSourcesIsPublished(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.step()
	for _, name := range []string{"first", "second"} {
		e.append([]record.Record{&record.DAO{ID: "empty", Name: name}})
		e.propose(name, "space-0", false)
		e.step()
		var detail governance.DAODetail
		view := env.Must(e.publisher.Store.View(t.Context(), cache.DAODetailKey("empty")))(t)
		env.MustDo(t, view.Decode(&detail))
		env.Want(t, name, detail.Name, "name")
	}
}

// TestChangesTellOfBatchesThatLandWhileEverythingIsPublished commits a proposal before each command
// that the publication after a flush sends to Redis: between any two of its reads.
func TestChangesTellOfBatchesThatLandWhileEverythingIsPublished(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	before := e.changes(cache.ChangeID{}).Last
	e.flush()
	want := map[string]bool{}
	landing := &beforeCommand{do: func() {
		want[string(e.propose(fmt.Sprint("landed-", len(want)), "space-0", false))] = true
	}}
	cache.Client(e.publisher.Store.Conn()).AddHook(landing)
	e.step()
	landing.do = func() {}
	e.step()
	e.wantTold(before, want)
}

func (e *electorate) wantTold(since cache.ChangeID, want map[string]bool) {
	e.t.Helper()
	for _, row := range e.changes(since).Rows {
		delete(want, row.Key)
	}
	env.Want(e.t, 0, len(want), "no change", "subjects", "one of each", want)
}

func (e *electorate) changes(after cache.ChangeID) cache.ChangeSlice {
	e.t.Helper()
	return env.Must(e.publisher.Store.Changes(e.t.Context(), after, 10_000))(e.t)
}

// flush empties Redis while the leader works on, as another one that has just begun.
func (e *electorate) flush() {
	e.t.Helper()
	env.FlushRedis(e.t, env.RedisClient(e.t, e.redisURL))
	env.MustDo(e.t, e.publisher.Lease.Acquire(e.t.Context()))
	e.takeOver()
}

// TestChangesTellOfForumsThatLandWhileEverythingIsPublished imports forums and new states of a topic
// without a pause while everything is published after a flush.
func TestChangesTellOfForumsThatLandWhileEverythingIsPublished(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	before := e.changes(cache.ChangeID{}).Last
	want := map[string]bool{}
	land := func(title string) {
		forum, dao := title+".org", "dao-"+title
		e.append([]record.Record{
			&record.DAO{ID: dao, Name: dao, Sources: []record.SourceRef{{Provider: governance.Discourse, ID: forum}}},
			&record.DAO{ID: "dao", Name: "DAO", Sources: []record.SourceRef{{Provider: governance.Discourse, ID: "forum.org"}}},
			&record.Topic{Host: forum, ExternalID: "1", Title: title, Slug: "slug", Posts: 1, Visible: true},
			&record.Topic{Host: "forum.org", ExternalID: "1", Title: title, Slug: "slug", Posts: 1, Visible: true},
		})
		for _, id := range []string{dao, "dao"} {
			want[string(governance.Identity{DAOID: id, Provider: governance.Discourse, ExternalID: "1"}.TopicKey())] = true
		}
	}
	land("first")
	for range 3 {
		e.step()
		e.flush()
		var landing sync.WaitGroup
		published := make(chan struct{})
		landing.Go(func() {
			for {
				land(fmt.Sprint("landed-", len(want)))
				select {
				case <-published:
					return
				default:
				}
			}
		})
		e.step()
		close(published)
		landing.Wait()
	}
	e.step()
	e.wantTold(before, want)
}

// beforeCommand is a hook that is called before each command to Redis, once at a time.
type beforeCommand struct {
	mu sync.Mutex
	do func()
}

func (*beforeCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *beforeCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		b.mu.Lock()
		b.do()
		b.mu.Unlock()
		return next(ctx, command)
	}
}

func (b *beforeCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// dieAfterTopics publishes topics, and has the leader die before it announces them. Another takes over.
func (e *electorate) dieAfterTopics() {
	e.t.Helper()
	catalog := env.Must(records.ReadCatalog(e.t.Context(), e.publisher.Warehouse))(e.t)
	revision := e.term.published.Revision + 1
	topics := topicPublication{
		run: &run{
			Publisher: e.publisher, Input: Input{Revision: revision}, workload: workload{catalog: catalog},
			writer: e.publisher.Store.NewWriter(revision),
		},
		daos: map[string]bool{},
	}
	if err := topics.publish(e.t.Context(), topicScope{forums: map[string]bool{"forum.org": true}, since: e.term.published.Revision}); err != nil || topics.published == 0 {
		e.t.Fatalf("published %d topics: %v", topics.published, err)
	}
	e.takeOver()
}

// noteListed returns what is added to the stream of changes when the lists of all DAOs have a new version.
func (e *electorate) noteListed() (listed map[string]bool) {
	e.t.Helper()
	version := func(scope query.Scope) uint64 {
		found := env.Must(e.publisher.Store.Version(e.t.Context(), scope))(e.t)
		return found.Revision
	}
	lists := map[governance.ChangeKind]query.Scope{
		governance.ProposalChange: query.Proposals{}.Scope(), governance.TopicChange: query.Topics{}.Scope(),
	}
	before := map[governance.ChangeKind]uint64{}
	for kind, scope := range lists {
		before[kind] = version(scope)
	}
	last := e.changes(cache.ChangeID{}).Last
	listed = map[string]bool{}
	e.noted = func() {
		slice := e.changes(last)
		last = slice.Last
		for _, row := range slice.Rows {
			if scope, is := lists[row.Kind]; is && version(scope) > before[row.Kind] {
				listed[string(row.Kind)+" "+row.Key] = true
			}
		}
	}
	return listed
}
