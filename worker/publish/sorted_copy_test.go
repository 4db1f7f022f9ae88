package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/worker/fill"
)

type exportLab struct {
	*electorate

	redis redis.UniversalClient
	ref   record.ProposalRef
	key   governance.ProposalKey
	power decimal.Decimal
	votes int
}

func newExportLab(t *testing.T) *exportLab {
	t.Helper()
	e := newElectorate(t, 1)
	e.publisher.rangedFrom = 10 * pages.SortedCopyThreshold
	l := &exportLab{electorate: e, redis: env.RedisClient(t, e.redisURL), ref: e.proposals[0]}
	l.key = governance.Identity{DAOID: "space-0", Provider: governance.Snapshot, ExternalID: l.ref.ExternalID}.ProposalKey()
	l.vote(pages.SortedCopyThreshold)
	filler := fill.New(fill.Options{
		Warehouse: e.publisher.Warehouse, Store: e.publisher.Store, Timeout: time.Minute,
		Logger: e.publisher.Logger, Metrics: prometheus.NewRegistry(),
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { filler.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return l
}

func (l *exportLab) vote(voters int) {
	l.t.Helper()
	var ballots []record.Record
	for range voters {
		l.votes++
		power := decimal.New(int64(l.votes%50)*1_000_000_000+int64(l.votes), -9)
		l.power = l.power.Add(power)
		ballots = append(ballots, &record.Ballot{
			Proposal: l.ref, Voter: fmt.Sprintf("0x%06d", l.votes), VoteID: strconv.Itoa(l.votes), Power: power,
			Choices: []string{"2"}, ChoiceKey: "2", RawChoice: "2",
		})
	}
	l.append(ballots)
	l.step()
}

// buildCopy builds a sorted copy as if begun at a time. switched makes it the current one.
func (l *exportLab) buildCopy(begun time.Time, switched bool) uint64 {
	l.t.Helper()
	w, generation := l.publisher.Warehouse, uint64(begun.UnixMicro())
	stale := env.Must(pages.StaleSortedCopies(l.t.Context(), w))(l.t)
	i := slices.IndexFunc(stale, func(c pages.SortedCopy) bool { return c.Subject == string(l.key) })
	if i < 0 {
		l.t.Fatalf("got stale copies %+v, want that of the proposal", stale)
	}
	sorted := stale[i]
	sorted.Generation = generation
	env.MustDo(l.t, pages.BuildSortedCopy(l.t.Context(), w, sorted, generation))
	if !switched {
		return generation
	}
	env.MustDo(l.t, pages.SwitchSortedCopy(l.t.Context(), w, sorted))
	env.Must(l.publisher.setCopyVersion(l.t.Context(), sorted))(l.t)
	return generation
}

// afterDrop drops replaced copies, as each minute, and returns which of some are left.
func (l *exportLab) afterDrop(generations ...uint64) []uint64 {
	l.t.Helper()
	env.Must(l.publisher.dropSortedCopies(l.t.Context(), nil))(l.t)
	return slices.DeleteFunc(generations, func(generation uint64) bool {
		copied := env.Must(pages.CountCopiedBallots(l.t.Context(), l.publisher.Warehouse, generation))(l.t)
		return copied.Votes == 0
	})
}

func (l *exportLab) manifest() (export governance.BallotExport) {
	l.t.Helper()
	env.MustDo(l.t, l.read(query.BallotExport{Proposal: l.key}).Decode(&export))
	return export
}

func (l *exportLab) part(revision string) []byte {
	l.t.Helper()
	view := l.read(query.BallotPart{Proposal: l.key, Revision: revision, Part: 1, Format: governance.ExportNDJSON})
	if view.Absent {
		return nil
	}
	var file cache.File
	env.MustDo(l.t, view.Decode(&file))
	return file.Gzip
}

// expire ends the half hour for which exported copies are kept.
func (l *exportLab) expire() {
	l.t.Helper()
	keys, err := l.redis.Keys(l.t.Context(), "*{worker}:exports").Result()
	if err != nil || len(keys) != 1 {
		l.t.Fatalf("got the keys %v, %v, want that of the exports", keys, err)
	}
	members, err := l.redis.ZRange(l.t.Context(), keys[0], 0, -1).Result()
	for _, member := range members {
		past := float64(time.Now().Add(-time.Second).UnixMilli())
		err = errors.Join(err, l.redis.ZAdd(l.t.Context(), keys[0], redis.Z{Score: past, Member: member}).Err())
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestExportedCopyIsKeptUntilItsExportExpires(t *testing.T) {
	t.Parallel()
	l := newExportLab(t)
	hourAgo := time.Now().Add(-time.Hour)
	exported := l.buildCopy(hourAgo, true)
	first := l.manifest()
	if got, want := string(first.Votes), strconv.Itoa(l.votes); got != want || !first.Final || first.VotingPower != governance.DecimalOf(l.power) {
		t.Errorf("got %s ballots with %s, want %s with %s", got, first.VotingPower, want, l.power)
	}
	text := l.part(first.Revision)

	// More ballots come, and the copy is replaced. Another one was not exported.
	l.vote(1)
	abandoned := l.buildCopy(hourAgo.Add(time.Minute), false)
	current := l.buildCopy(time.Now(), true)
	if diff := cmp.Diff([]uint64{exported, current}, l.afterDrop(exported, abandoned, current)); diff != "" {
		t.Fatalf("copies while the export is read (-want +got):\n%s", diff)
	}
	if again := l.part(first.Revision); len(text) == 0 || !bytes.Equal(again, text) {
		t.Errorf("got %d bytes of the first export, want the same %d as before", len(again), len(text))
	}
	second := l.manifest()
	if got, want := string(second.Votes), strconv.Itoa(l.votes); got != want || second.Revision == first.Revision || !second.Final {
		t.Errorf("got %+v, want another export, of %s ballots, final", second, want)
	}

	l.expire()
	if got := l.part(first.Revision); got != nil {
		t.Errorf("got %d bytes of an export that expired, want it to be gone", len(got))
	}
	env.WantSame(t, "copies after that", []uint64{current}, l.afterDrop(exported, abandoned, current))
	if got := l.part(second.Revision); got == nil {
		t.Error("got nothing of the current copy, want its ballots")
	}
}

func (l *exportLab) read(q query.Page) (found cache.View) {
	l.t.Helper()
	keys, err := l.redis.Keys(l.t.Context(), "*:page:ballot-*").Result()
	if err == nil && len(keys) > 0 {
		err = l.redis.Del(l.t.Context(), keys...).Err()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	request := cache.NewPageRequest(q)
	env.Until(l.t, func() error {
		found, _, err = l.publisher.Store.Page(l.t.Context(), request)
		if err == nil {
			return nil
		}
		enqueued := l.publisher.Store.Fills().Enqueue(l.t.Context(), cache.Fill{
			Page: request, Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
		})
		return fmt.Errorf("the page is not made yet: %w, %w", err, enqueued)
	})
	return found
}

// TestACopyOfTheSameBallotsIsKept when everything is published again, as after a restart, unless its rows are gone.
func TestACopyOfTheSameBallotsIsKept(t *testing.T) {
	t.Parallel()
	l := newExportLab(t)
	renewed := func() (generations [2]uint64) {
		t.Helper()
		env.MustDo(t, l.publisher.buildSortedCopies(t.Context()))
		copies := env.Must(pages.CurrentSortedCopies(t.Context(), l.publisher.Warehouse))(t)
		if stale := env.Must(pages.StaleSortedCopies(t.Context(), l.publisher.Warehouse))(t); len(stale) != 0 || len(copies) != 2 {
			t.Fatalf("got copies %+v, of which %+v are stale, want two and none", copies, stale)
		}
		for i, kind := range []pages.SortedCopyKind{pages.BallotCopy, pages.VoterCopy} {
			generations[i] = copies[slices.IndexFunc(copies, func(c pages.SortedCopy) bool { return c.Kind == kind })].Generation
		}
		return generations
	}
	first := renewed()
	publishAgain := func() {
		l.flush()
		l.step()
	}
	publishAgain()
	before := l.changes(cache.ChangeID{}).Last
	env.WantSame(t, "generations after everything was published", first, renewed())
	published := governance.TimestampOfRevision(l.term.published.Revision)
	// As the next term does, in case this one has ended before.
	env.MustDo(t, l.publisher.announceCopies(t.Context(), env.Must(pages.CurrentSortedCopies(t.Context(), l.publisher.Warehouse))(t)...))
	for _, row := range l.changes(before).Rows {
		if row.ChangedAt != published || row.DAOID != "space-0" { // as of when answers with the change are
			t.Errorf("got %s of %q changed at %v, want of space-0, when it was published, at %v", row.Key, row.DAOID, row.ChangedAt, published)
		}
	}

	l.vote(1)
	second := renewed()
	if second[0] == first[0] || second[1] == first[1] {
		t.Errorf("got generations %d after a ballot, want none of %d", second, first)
	}

	publishAgain()
	for _, gone := range []string{"sorted_ballots", "sorted_voters"} {
		env.MustDo(t, l.publisher.Warehouse.Conn.Exec(t.Context(), "TRUNCATE TABLE "+gone))
	}
	if third := renewed(); third[0] == second[0] || third[1] == second[1] {
		t.Errorf("got generations %d after the rows of %d were gone", third, second)
	}
}
