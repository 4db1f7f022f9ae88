package publish

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"pnyx/backoff"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// rangeSums keeps the sums of large subjects (proposals or DAOs) by range of voters. A ballot makes the range of
// its voter stale; a publication counts stale ranges again from the records, and adds up all. So its cost follows
// the ballots that came, and recasts, withdrawals and repetitions need no rule of their own. The sums are lost with
// the process: until they are counted again, subjects are counted whole.
//
// One publication at a time calls touch, drop, reset, want and total, total once at a time for a subject. Another
// goroutine counts subjects whole in the background: it calls next, done and fail.
type rangeSums[K comparable, S any] struct {
	rangeCounts[K, S]

	mu       sync.Mutex
	subjects map[K]*rangedSubject[S]
	// wanted wakes the goroutine that counts, and urgent does while it rests.
	wanted, urgent chan struct{}
}

// rangeCounts say how subjects of a kind are counted.
type rangeCounts[K comparable, S any] struct {
	// add returns the sum of sums over ranges, and equal compares two of one range.
	add   func([]S) S
	equal func(a, b S) bool
	// starts divides the voters of a subject, count counts ranges of it, and whole counts subjects whole.
	starts func(ctx context.Context, w *warehouse.Warehouse, key K, size uint64) ([]string, error)
	count  func(ctx context.Context, w *warehouse.Warehouse, key K, ranges []counts.VoterRange) ([]S, error)
	whole  func(ctx context.Context, w *warehouse.Warehouse, keys []K) (map[K]S, error)
}

type rangedSubject[S any] struct {
	// sums are nil until the subject was counted whole.
	sums *partition[S]
	// counting is the count that runs; nil for none.
	counting *wholeCount
	// countedAt is when the last count ended, or was given up.
	countedAt time.Time
	// changed is set when a range was counted since.
	changed bool
	// urgent is set when the subject was counted whole because it changed, until it has sums.
	urgent bool
}

// precedence orders subjects, lowest first: counted whole with every ballot, with sums, without any ballot yet.
func (s *rangedSubject[S]) precedence() int {
	switch {
	case s.urgent:
		return 0
	case s.sums != nil:
		return 1
	}
	return 2
}

// partition has the sum of each range, and which of them are stale.
type partition[S any] struct {
	ranges []counts.VoterRange
	sums   []S
	stale  map[int]bool
}

// wholeCount is a count of a whole subject that is under way.
type wholeCount struct {
	// touched are the voters whose ballots may have changed since it began.
	touched map[string]bool
	// urgent is the subject's urgent.
	urgent bool
}

func newRangeSums[K comparable, S any](of rangeCounts[K, S]) *rangeSums[K, S] {
	return &rangeSums[K, S]{
		rangeCounts: of, subjects: map[K]*rangedSubject[S]{}, wanted: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
	}
}

func (p *partition[S]) rangeOf(voter string) int {
	after, _ := slices.BinarySearchFunc(p.ranges, voter, func(r counts.VoterRange, voter string) int {
		if r.From <= voter {
			return -1
		}
		return 1
	})
	return after - 1
}

// touch notes that ballots of these voters may have changed, before they are counted.
func (r *rangeSums[K, S]) touch(key K, voters map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	subject := r.subjects[key]
	if subject == nil {
		return
	}
	if subject.counting != nil {
		maps.Copy(subject.counting.touched, voters)
	}
	if subject.sums != nil {
		for voter := range voters {
			subject.sums.stale[subject.sums.rangeOf(voter)] = true
		}
	}
}

func (r *rangeSums[K, S]) drop(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.subjects, key)
}

func (r *rangeSums[K, S]) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.subjects)
}

// want has the sums of a subject counted in the background; urgently if it was just counted whole because it
// changed, as it will be until it has sums.
func (r *rangeSums[K, S]) want(key K, urgent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	subject := r.subjects[key]
	if subject == nil {
		subject = &rangedSubject[S]{}
		r.subjects[key] = subject
		backoff.Wake(r.wanted)
	}
	if urgent && subject.sums == nil {
		subject.urgent = true
		backoff.Wake(r.urgent)
	}
}

// total returns the sum of a subject, with stale ranges counted by count; false if it has to be counted whole: it
// has no sums, or most of them are stale.
func (r *rangeSums[K, S]) total(key K, count func([]counts.VoterRange) ([]S, error)) (sum S, ok bool, err error) {
	sums, stale := r.staleOf(key)
	if sums == nil {
		return sum, false, nil
	}
	if len(stale) > 4 && 2*len(stale) > len(sums.ranges) {
		r.drop(key)
		return sum, false, nil
	}
	if len(stale) > 0 {
		ranges := warehouse.Values(stale, func(place int) counts.VoterRange { return sums.ranges[place] })
		counted, err := count(ranges)
		if err != nil {
			return sum, false, err
		}
		r.mu.Lock()
		for i, place := range stale {
			sums.sums[place] = counted[i]
			delete(sums.stale, place)
		}
		r.mu.Unlock()
	}
	return r.add(sums.sums), true, nil
}

// staleOf returns the sums of a subject, nil for none, and its stale ranges in order.
func (r *rangeSums[K, S]) staleOf(key K) (sums *partition[S], stale []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	subject := r.subjects[key]
	if subject == nil || subject.sums == nil {
		return nil, nil
	}
	subject.changed = subject.changed || len(subject.sums.stale) > 0
	return subject.sums, slices.Sorted(maps.Keys(subject.sums.stale))
}

func (r *rangeSums[K, S]) has(key K) bool {
	sums, _ := r.staleOf(key)
	return sums != nil
}

func (r *rangeSums[K, S]) isWanted(key K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.subjects[key] != nil
}

// next begins the count of a subject that was never counted, or has changed and was not counted since a time: of
// those that precede the others, the one counted the longest ago. It returns false for none.
func (r *rangeSums[K, S]) next(before time.Time) (key K, count *wholeCount, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var chosen *rangedSubject[S]
	for other, subject := range r.subjects {
		due := subject.sums == nil || subject.changed
		if subject.counting != nil || !due || !subject.countedAt.Before(before) {
			continue
		}
		if chosen == nil || cmp.Or(
			cmp.Compare(subject.precedence(), chosen.precedence()), subject.countedAt.Compare(chosen.countedAt),
		) < 0 {
			key, chosen = other, subject
		}
	}
	if chosen == nil {
		return key, nil, false
	}
	chosen.counting = &wholeCount{touched: map[string]bool{}, urgent: chosen.urgent}
	chosen.changed = false
	return key, chosen.counting, true
}

// done ends a count, whose sums replace the previous ones, and returns the ranges whose previous sum was wrong.
// Those that changed since it began are stale and not compared, nor are sums of pending voters, whose records no
// publication has read; all says that every voter may be one.
func (r *rangeSums[K, S]) done(
	key K, count *wholeCount, ranges []counts.VoterRange, sums []S, pending map[string]bool, all bool, now time.Time,
) (wrong []counts.VoterRange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	subject := r.subjects[key]
	if subject == nil || subject.counting != count {
		return nil // dropped meanwhile
	}
	next := &partition[S]{ranges: ranges, sums: sums, stale: map[int]bool{}}
	for voter := range count.touched {
		next.stale[next.rangeOf(voter)] = true
	}
	if subject.sums != nil && !all {
		wrong = r.compare(subject.sums, next, pending)
	}
	subject.sums, subject.counting, subject.countedAt, subject.urgent = next, nil, now, false
	return wrong
}

// compare returns the ranges that both partitions have, stale in neither, with different sums.
func (r *rangeSums[K, S]) compare(previous, next *partition[S], pending map[string]bool) (wrong []counts.VoterRange) {
	places := make(map[counts.VoterRange]int, len(previous.ranges))
	for place, voters := range previous.ranges {
		places[voters] = place
	}
	unread := map[int]bool{}
	for voter := range pending {
		unread[next.rangeOf(voter)] = true
	}
	for place, voters := range next.ranges {
		before, kept := places[voters]
		if !kept || next.stale[place] || unread[place] || previous.stale[before] {
			continue
		}
		if !r.equal(previous.sums[before], next.sums[place]) {
			wrong = append(wrong, voters)
		}
	}
	return wrong
}

// fail ends a count without sums. The next one begins after a pause.
func (r *rangeSums[K, S]) fail(key K, count *wholeCount, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if subject := r.subjects[key]; subject != nil && subject.counting == count {
		subject.counting, subject.countedAt, subject.changed = nil, now, true
	}
}

const (
	// votersPerRange is the mean number of voters in a range; a power of two. One of a proposal is a granule or two
	// to read, and 20 million ballots have some 5,000 ranges to add up.
	votersPerRange = 4096
	// rangesPerStatement bounds the ranges that one statement counts.
	rangesPerStatement = 128
)

// of returns the sums of subjects: ranged are subjects of which only the ranges that changed are counted.
func (r *rangeSums[K, S]) of(
	ctx context.Context, w *warehouse.Warehouse, keys []K,
) (found map[K]S, ranged map[K]bool, err error) {
	found, ranged = map[K]S{}, map[K]bool{}
	var whole []K
	for _, key := range keys {
		sum, ok, err := r.total(key, func(ranges []counts.VoterRange) ([]S, error) {
			return r.countRanges(ctx, w, key, ranges, rangesPerStatement)
		})
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			found[key], ranged[key] = sum, true
		default:
			whole = append(whole, key)
		}
	}
	if len(whole) == 0 {
		return found, ranged, nil
	}
	counted, err := r.whole(ctx, w, whole)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(found, counted)
	return found, ranged, nil
}

func (p *Publisher) voteTotals(ctx context.Context, refs []record.RefHash) (map[record.RefHash]counts.VoteTotals, error) {
	found, ranged, err := p.totals.of(ctx, p.Warehouse, refs)
	p.metrics.ranged.Add(float64(len(ranged)))
	return found, err
}

func (r *rangeSums[K, S]) countRanges(
	ctx context.Context, w *warehouse.Warehouse, key K, ranges []counts.VoterRange, perStatement int,
) ([]S, error) {
	sums := make([]S, 0, len(ranges))
	for some := range slices.Chunk(ranges, perStatement) {
		counted, err := r.count(ctx, w, key, some)
		if err != nil {
			return nil, err
		}
		sums = append(sums, counted...)
	}
	return sums, nil
}

func (p *Publisher) forgetSums() {
	p.totals.reset()
	p.voters.forget()
}

// touch notes what batches change. It is called before the changed subjects are counted.
func (p *Publisher) touch(changes records.ChangeSet) {
	p.voters.touchBallots(changes)
	for ref := range changes.Proposals {
		if changes.Voters == nil {
			p.totals.drop(ref)
		} else if voters := changes.Voters[ref]; voters != nil {
			p.totals.touch(ref, voters)
		}
	}
}

// daoRangedFrom is the number of votes from which participation is kept by range: a range takes some granules of
// each proposal, or the other votes of its voters. Below, counting all ballots takes less.
const daoRangedFrom = 10 * pages.SortedCopyThreshold

type daoVoters struct {
	*rangeSums[string, counts.Participation]
	// daoOf has the DAO of each proposal of a DAO that is, or was, counted by ranges.
	daoOf sync.Map // strings by record.RefHash
}

func (d *daoVoters) touchBallots(changes records.ChangeSet) {
	for ref := range changes.Proposals {
		found, known := d.daoOf.Load(ref)
		id, _ := found.(string)
		switch {
		case !known:
		case changes.Voters == nil:
			d.drop(id)
		default:
			d.touch(id, changes.Voters[ref])
		}
	}
}

// move notes that a proposal comes to another DAO, is withdrawn, or becomes or ends being spam. A new one without
// votes changes no sums.
func (d *daoVoters) move(e *evaluation, from string) {
	to := e.identity.DAOID
	switch {
	case e.proposal.Withdrawn, e.proposal.Flagged:
		d.drop(from)
		d.daoOf.Delete(e.proposal.Ref)
	case from == to:
		if _, known := d.daoOf.Load(e.proposal.Ref); !known && d.isWanted(to) {
			d.drop(to)
		}
	case from == "" && e.ballots.Votes == 0:
		if d.isWanted(to) {
			d.setProposals(to, []record.RefHash{e.proposal.Ref})
		}
	default:
		d.drop(from)
		d.drop(to)
	}
}

// setProposals notes the proposals of a DAO, before its voters are counted.
func (d *daoVoters) setProposals(daoID string, refs []record.RefHash) {
	for _, ref := range refs {
		d.daoOf.Store(ref, daoID)
	}
}

func (d *daoVoters) forget() {
	d.daoOf.Clear() // first: a count that notes proposals meanwhile is dropped
	d.reset()
}
