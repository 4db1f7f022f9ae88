package histories

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pnyx/test/env"
)

// small is a deployment of two nodes with a vote of three voters.
var small = Setting{Nodes: 2, Voters: 3, Burst: 1, PerSecond: 1}

// when gives an operation times in milliseconds.
func when(call, ret int, o Operation) Operation {
	o.Call, o.Return = time.Duration(call)*time.Millisecond, time.Duration(ret)*time.Millisecond
	return o
}

// use is a request of token T at a node, with its status and code.
func use(call, ret int, node string, status int, code string) Operation {
	return when(call, ret, Operation{Kind: Request, Node: node, Token: "T", Status: status, Code: code})
}

// issued is the command that issues token T with two answers a month.
func issued() Operation {
	return when(0, 1, Operation{Kind: Issue, Token: "T", Limit: 2, Status: 200})
}

// read is an answer of node a that shows some ballots.
func read(call, ret int, asOf int64, casts int) Operation {
	return when(call, ret, Operation{Kind: Request, Node: "a", Path: "/p", Status: 200, AsOf: []int64{asOf}, Casts: casts})
}

// tagged is an answer with an ETag.
func tagged(node, etag, body string) Operation {
	return Operation{Kind: Request, Node: node, Path: "/p", Status: 200, ETag: etag, Body: body}
}

// fiveCast are the imports of five ballots, a millisecond each.
func fiveCast() (h History) {
	for i := range 5 {
		h = append(h, when(i, i+1, Operation{Kind: Import, Casts: i, Status: 200}))
	}
	return h
}

// walk is one that was called after the fifth ballot.
func walk(asOf []int64, rows ...int) Operation {
	return when(10, 20, Operation{Kind: Walk, Status: 200, AsOf: asOf, Rows: rows})
}

// part is a part of an export.
func part(status int, body string, rows ...int) Operation {
	return when(10, 20, Operation{Kind: Export, Status: status, Path: "/r/1", Body: body, Rows: rows})
}

// pay and transfer are of one payment.
func pay(call, status int, body string) Operation {
	return when(call, call+10, Operation{Kind: Pay, Subject: "n", Path: "/p", Status: status, Body: body})
}

func transfer(at int) Operation { return when(at, at, Operation{Kind: Transfer, Subject: "n"}) }

// change gives a record of a followed system a state, and show shows it at a node.
func change(at, state int) Operation {
	return when(at, at+1, Operation{Kind: Change, Subject: "r", Casts: state})
}

func show(call int, node string, state int) Operation {
	return when(call, call+1, Operation{Kind: Show, Subject: "r", Node: node, Casts: state, AsOf: []int64{0}, Status: 200})
}

// broken is a fault of Redis, or one that rewinds it.
func broken(call, ret int, rewinds bool) Operation {
	return when(call, ret, Operation{Kind: Fault, Redis: true, Rewinds: rewinds})
}

// clockSet is a fault that sets a clock.
func clockSet(call, ret int) Operation {
	return when(call, ret, Operation{Kind: Fault, SetsClock: true})
}

func TestModels(t *testing.T) {
	const limited = codeQuota
	tests := []struct {
		name string
		// model is the one that finds a problem, with a part of its text; "" for none.
		model, problem string
		history        History
	}{
		{"a month is used up and then refused", "", "", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 200, ""), use(6, 7, "a", 429, limited),
		}},
		{"a token that could not be issued has no month", "", "", History{
			{Kind: Issue, Limit: 1}, {Kind: Request, Status: 200}, {Kind: Request, Status: 200},
		}},
		{"one answer more than the month", "quota", "no counter", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 200, ""), use(6, 7, "a", 200, ""),
		}},
		{"refused before the month is used up", "quota", "no counter", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 429, limited), use(6, 7, "a", 200, ""),
		}},
		{"refused while another request holds the last answer", "", "", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 9, "b", 503, ""), use(5, 6, "a", 429, limited), use(10, 11, "a", 200, ""),
		}},
		{"an error that counts", "quota", "no counter", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 404, ""), use(6, 7, "a", 429, limited),
		}},
		{"a request without response may count", "", "", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 0, ""), use(6, 7, "a", 429, limited),
		}},
		{"a request without response need not count", "", "", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 0, ""), use(6, 7, "a", 200, ""),
		}},
		{"more than the month while Redis is away", "", "", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 200, ""), broken(6, 9, false), use(7, 8, "a", 200, ""),
		}},
		{"far more than the month while Redis is away", "quota", "allow 5 more", append(History{
			issued(), broken(0, 9, false),
		}, repeat(8, use(2, 3, "a", 200, ""))...)},
		{"more than the month after Redis is back", "quota", "answered after 2 of 2", History{
			issued(), use(2, 3, "a", 200, ""), use(4, 5, "b", 200, ""), broken(6, 9, false), use(10, 11, "a", 200, ""),
		}},
		{"refused for answers that nobody got", "quota", "refused after at most 1", History{
			issued(), use(2, 3, "a", 200, ""), broken(6, 9, false), use(10, 11, "a", 429, limited),
		}},

		{"a token works when it is issued, and ends at each node by itself", "", "", History{
			issued(), use(2, 3, "a", 429, ""), when(4, 5, Operation{Kind: Revoke, Token: "T"}), use(6, 7, "a", 200, ""),
			use(6, 7, "b", 401, ""), use(8, 9, "a", 401, ""),
		}},
		{"a token is refused after it was issued", "tokens", "secret 0 of token T at a", History{issued(), use(2, 3, "a", 401, "")}},
		{"a token is refused while it is issued", "", "", History{issued(), use(0, 3, "a", 401, ""), use(4, 5, "a", 200, "")}},
		{"a revoked token is accepted again", "tokens", "secret 0 of token T at a", History{
			issued(), when(4, 5, Operation{Kind: Revoke, Token: "T"}), use(6, 7, "a", 401, ""), use(8, 9, "a", 200, ""),
		}},
		{"two nodes behind a load balancer learn of a revocation one after the other", "", "", History{
			issued(), when(4, 5, Operation{Kind: Revoke, Token: "T"}), use(6, 7, "", 401, ""), use(8, 9, "", 200, ""),
		}},
		{"a revoked token is accepted again during a failover", "", "", History{
			issued(), when(4, 5, Operation{Kind: Revoke, Token: "T"}), use(6, 7, "a", 401, ""), use(8, 9, "a", 200, ""), broken(8, 9, true),
		}},
		{"a token is refused before it is revoked", "tokens", "token T", History{
			issued(), use(2, 3, "a", 401, ""), when(4, 5, Operation{Kind: Revoke, Token: "T"}),
		}},
		{"a rotated token has a new secret at once", "tokens", "secret 1 of token T", History{
			issued(), when(2, 3, Operation{Kind: Rotate, Token: "T", Status: 200}),
			when(4, 5, Operation{Kind: Request, Node: "a", Token: "T", Secret: 1, Status: 401}),
		}},
		{"a rotated token loses its old secret", "", "", History{
			issued(), when(2, 3, Operation{Kind: Rotate, Token: "T", Status: 200}), use(4, 5, "a", 401, ""),
			when(4, 5, Operation{Kind: Request, Node: "a", Token: "T", Secret: 1, Status: 200}),
		}},
		{"a token that is issued without Redis works later", "", "", History{issued(), broken(0, 1, false), use(2, 3, "a", 401, "")}},

		{"states go forward", "", "", History{read(0, 9, 5, 1), read(1, 2, 7, 2), read(3, 4, 7, 2)}},
		{"two reads at a time may differ", "", "", History{read(0, 3, 7, 2), read(1, 2, 5, 1)}},
		{"a node shows an earlier state", "revisions", "shows state 1 as of 5, after", History{read(0, 1, 7, 2), read(2, 3, 5, 1)}},
		{"a node shows an earlier state by a later time", "revisions", "shows state 1 as of 8, after", History{read(0, 1, 7, 2), read(2, 3, 8, 1)}},
		{"a failover brings back an earlier state", "", "", History{read(0, 1, 7, 2), broken(2, 4, true), read(3, 4, 5, 1), read(6, 7, 7, 2)}},
		{"a clock is set back", "", "", History{read(0, 1, 7, 2), clockSet(2, 4), read(5, 6, 5, 2), read(7, 8, 6, 3)}},
		{"a clock is set back, and a ballot is missing", "revisions", "shows state 1", History{read(0, 1, 7, 2), clockSet(2, 4), read(5, 6, 5, 1)}},
		{"an earlier state long after a failover", "revisions", "shows state 1", History{broken(0, 1, true), read(2, 3, 7, 2), read(4, 5, 5, 1)}},

		{"an ETag names one body", "", "", History{tagged("a", "x", "1"), tagged("b", "x", "1"), tagged("b", "y", "2")}},
		{"an ETag names two bodies", "etags", "x names", History{tagged("a", "x", "1"), tagged("b", "x", "2")}},

		{"a walk while a ballot replaces another", "", "", append(fiveCast(), walk([]int64{1, 1}, 3, 2))},
		{"a walk loses a ballot", "walks", "ballot 3 of 5 was there", append(fiveCast(), walk([]int64{1, 1}, 4, 2))},
		{"a walk repeats a ballot", "walks", "row 2 is ballot 3", append(fiveCast(), walk([]int64{1, 1}, 4, 3, 3, 2))},
		{"a walk shows what was not cast", "walks", "row 0 is ballot 5", append(fiveCast(), walk([]int64{1, 1}, 5, 4, 3, 2))},
		{"a walk over a node that lags is not judged", "", "", append(fiveCast(), walk([]int64{2, 1}, 4, 2))},

		{"a part is the vote at some time", "", "", append(fiveCast(), part(200, "x", 1, 3, 2), part(410, ""), part(200, "x", 1, 3, 2))},
		{"a part lacks a ballot", "exports", "are not the ballots", append(fiveCast(), part(200, "x", 4, 2))},
		{"a part has a ballot and the one that replaced it", "exports", "are not the ballots", append(fiveCast(), part(200, "x", 4, 3, 2, 1))},
		{"a revision is two states", "exports", "differs", append(fiveCast(), part(200, "x", 1, 2, 3), part(200, "y", 2, 3, 4))},
		{"a part that is gone is not found", "exports", "want 410", append(fiveCast(), part(404, ""))},

		{"a payment is answered again", "", "", History{pay(0, 0, ""), transfer(5), pay(20, 200, "x"), pay(40, 200, "x")}},
		{"a payment is refused", "", "", History{pay(0, 402, "")}},
		{"an answer that nobody paid", "payments", "before anybody was charged", History{pay(0, 200, "x")}},
		{"an answer before its payment", "payments", "before anybody was charged", History{pay(0, 200, "x"), transfer(15)}},
		{"money moves twice", "payments", "twice", History{pay(0, 200, "x"), transfer(5), transfer(6)}},
		{"a payment buys two answers", "payments", "another answer", History{transfer(5), pay(20, 200, "x"), pay(40, 200, "y")}},
		{"a payment buys another answer when Redis has lost the first", "", "", History{
			transfer(5), pay(20, 200, "x"), broken(31, 32, false), pay(40, 200, "y"),
		}},
		{"charged and refused", "payments", "never answered", History{transfer(5), pay(0, 402, "")}},

		{"an event is delivered twice", "", "", History{
			{Kind: Publish, Subject: "e"}, {Kind: Deliver, Subject: "e"}, {Kind: Deliver, Subject: "e"},
		}},
		{"an event is not delivered", "webhooks", "event e was not", History{{Kind: Publish, Subject: "e"}}},
		{"a message of no event", "webhooks", "message e is of no", History{{Kind: Deliver, Subject: "e"}}},
		{"a copy has everything", "", "", History{{Kind: Copy, Casts: 3, Rows: []int{3}}}},
		{"a copy misses a ballot", "changes", "2 ballots of [3]", History{{Kind: Copy, Casts: 2, Rows: []int{3}}}},
		{"a record shows each state in turn", "", "", History{
			change(0, 1), change(10, 2), show(5, "a", 1), show(12, "a", 1), show(15, "a", 2), show(20, "b", 2),
		}},
		{"two nodes show states at different times", "", "", History{change(0, 1), change(10, 2), show(12, "a", 2), show(14, "b", 1), show(16, "b", 2)}},
		{"a state that the upstream never had", "sources", "did not have state 3", History{change(0, 1), show(5, "a", 3), show(7, "b", 1)}},
		{"a state before the upstream had it", "sources", "did not have state 2", History{change(0, 1), show(5, "a", 2), change(10, 2)}},
		{"a record goes back", "sources", "shows state 1", History{
			change(0, 1), change(1, 2), show(5, "a", 2), show(7, "a", 1), show(9, "a", 2),
		}},
		{"a record lacks the last change in the end", "sources", "the upstream has 2", History{change(0, 1), show(5, "a", 1), change(10, 2), show(20, "a", 1)}},
		{"a record is never shown", "sources", "was never shown", History{change(0, 1)}},
		{"an answer that contradicts itself", "answers", "a sum is wrong", History{{Kind: Request, Wrong: "a sum is wrong"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := Check(test.history, small)
			if test.model == "" && len(found) > 0 {
				t.Errorf("got %v, want no violation", found)
			}
			if test.model != "" && (len(found) == 0 || found[0].Model != test.model || !strings.Contains(found[0].Problem, test.problem)) {
				t.Errorf("got %v, want one of %s with %q", found, test.model, test.problem)
			}
		})
	}
}

func repeat(times int, o Operation) (h History) {
	for range times {
		h = append(h, o)
	}
	return h
}

// Clients take from a counter as nodes do, in any order: a reservation, and its return if it is not used.
func TestCountersOfAnyScheduleAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 3
		h, now, used := History{when(0, 0, Operation{Kind: Issue, Token: "T", Limit: limit, Status: 200})}, 1, 0
		open := make([]*Operation, 3)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += 2
			client := rapid.IntRange(0, len(open)-1).Draw(t, "client")
			if o := open[client]; o == nil { // the reservation
				status := rapid.SampledFrom([]int{200, 200, 503, 0}).Draw(t, "status")
				next := when(now-1, now, Operation{Kind: Request, Client: client, Node: "a", Token: "T", Status: status})
				if used++; used > limit {
					next.Status, next.Code = 429, codeQuota
				}
				open[client] = &next
			} else { // the return
				if o.Status == 429 || o.Status == 503 {
					used--
				}
				o.Return = time.Duration(now+1) * time.Millisecond
				h, open[client] = append(h, *o), nil
			}
		}
		for _, o := range open {
			if o != nil {
				o.Return = time.Duration(now+2) * time.Millisecond
				h = append(h, *o)
			}
		}
		if problems := checkQuotas(h, small); len(problems) > 0 {
			t.Fatalf("got %v, want none of %v", problems, h)
		}
	})
}

// The check of revisions finds what one that looks at each pair finds.
func TestBackwardsFindsWhatAPairwiseComparisonFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h History
		for range rapid.IntRange(2, 12).Draw(t, "reads") {
			call := rapid.IntRange(0, 30).Draw(t, "call")
			h = append(h, read(call, call+rapid.IntRange(0, 9).Draw(t, "lasts"), int64(rapid.IntRange(1, 5).Draw(t, "state")), 0))
		}
		want := false
		for i := range h {
			for j := range h {
				want = want || h[i].Return < h[j].Call && h[i].AsOf[0] > h[j].AsOf[0]
			}
		}
		if problems := checkRevisions(h, small); want != (len(problems) > 0) {
			t.Fatalf("got %v, want a problem: %t, of %v", problems, want, h)
		}
	})
}

func TestSchedulesRepeatBySeed(t *testing.T) {
	breakages := []Breakage{
		{Name: "killed", Lasts: 5 * time.Second, Takes: "primary"}, {Name: "flushed"}, {Name: "hangs", Lasts: time.Second, Takes: "primary"},
	}
	first, again, other := Schedule(7, breakages, 50), Schedule(7, breakages, 50), Schedule(8, breakages, 50)
	if !reflect.DeepEqual(first, again) {
		t.Error("got two schedules of one seed, want the same one")
	}
	if reflect.DeepEqual(first, other) {
		t.Error("got one schedule of two seeds, want two")
	}
	kinds, pairs := map[int]bool{}, 0
	for _, e := range first {
		for _, fault := range e.Faults {
			kinds[fault] = true
		}
		if len(e.Faults) == 2 {
			pairs++
			if !slices.Contains(e.Faults, 1) {
				t.Errorf("got event %+v, which takes the only spare twice", e)
			}
		}
		if e.Calm < time.Second || e.Calm > maxCalm || e.Lasts > 5*time.Second || len(e.Faults) == 0 {
			t.Errorf("got event %+v, out of its bounds", e)
		}
	}
	if len(kinds) != len(breakages) || pairs == 0 || pairs == len(first) {
		t.Errorf("got %d kinds and %d pairs in 50 events, want 3 and some", len(kinds), pairs)
	}
	if a, b := Client(7, 1).Uint64(), Client(7, 2).Uint64(); a == b {
		t.Error("got the same random numbers for two clients")
	}
}

func TestHistoriesAreReadAsTheyWereWritten(t *testing.T) {
	recorder := NewRecorder()
	end := recorder.Begin(Operation{Kind: Pay, Subject: "n", Client: 3})
	end(func(o *Operation) { o.Status, o.Rows = 200, []int{1, 2} })
	recorder.Add(transfer(5))
	path := filepath.Join(t.TempDir(), "history.ndjson")
	want := recorder.History()
	env.MustDo(t, want.Write(path))
	got, err := Read(path)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	if want[0].Return < want[0].Call {
		t.Errorf("got return %s before call %s", want[0].Return, want[0].Call)
	}
}
