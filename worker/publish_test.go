package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestUnchangedProposalsKeepTheirRevision(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), proposal("b"), vote("a", "0x1", "1"), vote("b", "0x1", "2.5"))
	h.startLeader(h.metrics)
	a, b := keyOf("dao.eth", "a"), keyOf("dao.eth", "b")
	before := h.waitForVotes(a, "1")
	untouched := h.waitForVotes(b, "1")

	h.append(vote("a", "0x2", "0.000000000000000001"))
	after := h.waitForVotes(a, "2")
	if after.Revision <= before.Revision || after.DataAsOf < before.DataAsOf {
		t.Errorf("got revision %d after %d, want a later one", after.Revision, before.Revision)
	}
	if _, view, err := h.summary(b); err != nil || view.Revision != untouched.Revision {
		t.Errorf("the other proposal has revision %d (%v), want %d as before", view.Revision, err, untouched.Revision)
	}
	env.Until(h.t, func() error {
		dao, err := h.dao()
		if err != nil {
			return err
		}
		want := governance.Participation{UniqueVoters: "2", TotalVotes: "3", TotalVotingPower: "3.500000000000000001"}
		if dao.Participation != want {
			return fmt.Errorf("got %+v, want %+v", dao.Participation, want)
		}
		return nil
	})
}

func TestCorruptViewIsRepublishedOnRequest(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.startLeader(h.metrics)
	a := keyOf("dao.eth", "a")
	h.waitForVotes(a, "1")
	env.MustDo(t, h.redis.Set(t.Context(), string(cache.VoteSummaryKey(a)), "0000000000000001 broken", 0).Err())
	if _, _, err := h.summary(a); !errors.Is(err, cache.ErrCorrupt) {
		t.Fatalf("got %v, want %v", err, cache.ErrCorrupt)
	}
	for range 3 { // several nodes report it
		env.MustDo(t, h.store.RequestRepublish(t.Context()))
	}
	h.waitForVotes(a, "1")
	env.Until(h.t, func() error {
		if found, err := h.store.Standing(t.Context()); err != nil || found.RepublishRequested {
			return fmt.Errorf("still requested: %t, %v", found.RepublishRequested, err) //nolint:errorlint // it may be nil
		}
		return nil
	})
}

// A failover to a lagging replica looks the same: other run ids, and the last writes are missing.
func TestWritesLostInARedisRestartAreRepublished(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	h := newHarnessOn(t, server.URL)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.startLeader(h.metrics)
	a := keyOf("dao.eth", "a")
	h.waitForVotes(a, "1")
	env.MustDo(t, h.redis.Do(t.Context(), "save").Err())
	h.append(vote("a", "0x2", "1"))
	before := h.waitForVotes(a, "2")

	server.Restart() // from what was saved
	after := h.waitForVotes(a, "2")
	if after.Revision <= before.Revision {
		t.Errorf("got revision %d, want one after %d", after.Revision, before.Revision)
	}
	env.Until(h.t, func() error {
		published, err := h.store.PublicationState(t.Context())
		if err == nil && published.LastFullRevision < after.Revision {
			err = fmt.Errorf("got a full publication at revision %d, want %d or later", published.LastFullRevision, after.Revision)
		}
		return err
	})
}

// appendEndingSoon appends a proposal, and waits until before returns nil before its end: else it tries again.
func (h *harness) appendEndingSoon(p *record.Proposal, before func() error) {
	h.t.Helper()
	var err error
	for ahead := 2 * time.Second; ahead < 5*time.Minute; ahead *= 4 {
		p.EndAt = new(governance.TimestampOf(time.Now().Add(ahead)))
		h.append(p)
		env.Until(h.t, func() error {
			if err = before(); err != nil && !time.Now().Before(p.EndAt.Time()) {
				return nil // too late
			}
			return err
		})
		if err == nil {
			return
		}
	}
	h.t.Fatalf("not reached before the end: %v", err)
}

func TestProposalClosesWithoutAnImport(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	start := governance.TimestampOf(time.Now().Add(-time.Hour))
	ending := proposal("ending")
	ending.StartAt = &start
	h.append(vote("ending", "0x1", "1"))
	h.startLeader(h.metrics)
	counts := func(want governance.ProposalCounts) error {
		dao, err := h.dao()
		if err == nil && dao.ProposalCounts != want {
			err = fmt.Errorf("got %+v, want %+v", dao.ProposalCounts, want)
		}
		return err
	}
	h.appendEndingSoon(ending, func() error { return counts(governance.ProposalCounts{Total: 1, Active: 1}) })
	// The end of an attempt that came too late shows until its correction does.
	env.Until(h.t, func() error {
		summary, _, err := h.summary(keyOf("dao.eth", "ending"))
		if err == nil && summary.Proposal.Outcome != governance.Passed {
			err = fmt.Errorf("got outcome %s, want passed", summary.Proposal.Outcome)
		}
		if err != nil {
			return err
		}
		return counts(governance.ProposalCounts{Total: 1, Closed: 1})
	})
}

func TestClaimedSourceMovesToItsDAO(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), vote("a", "0x1", "1"), analysis("a", `{}`))
	h.startLeader(h.metrics)
	former := keyOf("dao.eth", "a")
	h.waitForVotes(former, "1")
	h.waitForEvidence(former, hasAnalysis)

	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.waitForVotes(keyOf("dao", "a"), "1")
	h.waitForEvidence(keyOf("dao", "a"), hasAnalysis)
	h.waitForNone(cache.VoteSummaryKey(former), cache.EvidenceKey(former), cache.DAODetailKey("dao.eth"))
	env.Until(h.t, func() error {
		page, err := h.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 10}})
		if err != nil || len(page.Items) != 1 || page.Items[0].Name != "The DAO" {
			return fmt.Errorf("got %+v (%w), want one DAO", page.Items, err)
		}
		return nil
	})
}

func (h *harness) mismatch() {
	h.t.Helper()
	twice := vote("a", "0x2", "5")
	twice.Shares = []decimal.Decimal{decimal.NewFromInt(4)}
	h.append(twice)
	env.Until(h.t, func() error {
		if n := env.Counts(h.t, h.metrics, "pnyx_publish_unbalanced_total")[""]; n == 0 {
			return errors.New("no mismatch was counted")
		}
		return nil
	})
}

func TestMismatchedSumsKeepPreviousNumbers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), proposal("fresh"), vote("a", "0x1", "1"))
	h.startLeader(h.metrics)
	key := keyOf("dao.eth", "a")
	good := h.waitForVotes(key, "1")

	h.mismatch()
	if _, view, err := h.summary(key); err != nil || view.Revision != good.Revision {
		t.Errorf("got revision %d (%v), want %d kept", view.Revision, err, good.Revision)
	}
	env.Until(h.t, func() error {
		view, err := h.store.View(t.Context(), cache.DAODetailKey("dao.eth"))
		if err != nil {
			return err
		}
		committed, err := records.CommittedBatches(t.Context(), h.warehouse, time.Unix(0, 0))
		if err == nil && !slices.ContainsFunc(committed, func(b records.CommittedBatch) bool {
			return view.FreshUntil != nil && *view.FreshUntil == governance.TimestampOf(b.CommittedAt)
		}) {
			err = fmt.Errorf("got newer numbers due since %v, want the commit time of a batch", view.FreshUntil)
		}
		return err
	})

	h.waitForEvidence(key, func(e governance.Evidence) bool { return slices.Contains(e.QualityFlags, rules.TotalsDisagree) })
	h.append(vote("a", "0x2", "5"))
	h.waitForVotes(key, "2")
}

func TestMismatchedSumsAreWithheldAfterAFlush(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.startLeader(h.metrics)
	key := keyOf("dao.eth", "a")
	h.waitForVotes(key, "1")
	h.mismatch()
	env.FlushRedis(t, h.redis)
	h.waitForPublication()

	if summary, view, err := h.summary(key); err != nil || summary.Totals != nil || view.Readiness != governance.ReadinessUnavailable {
		t.Errorf("got %+v, %s (%v), want a summary without totals", summary, view.Readiness, err)
	}
	if _, err := h.dao(); !errors.Is(err, cache.ErrWithheld) {
		t.Errorf("got %v for the DAO, want it withheld", err)
	}
	env.Until(t, func() error {
		view, err := h.store.View(t.Context(), cache.DAODetailKey("dao.eth"))
		if err == nil && view.FreshUntil == nil {
			err = errors.New("the withheld DAO does not state since when newer numbers are due")
		}
		return err
	})
	page := env.Must(h.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 10}}))(t)
	env.Want(t, 1, len(page.Items), page.Items, "one DAO")
	h.append(vote("a", "0x2", "5"))
	h.waitForVotes(key, "2")
	env.Until(h.t, func() error {
		_, err := h.dao()
		return err
	})
}

func (h *harness) publishOnce() cache.PublicationState {
	h.t.Helper()
	h.append(proposal("a"), vote("a", "0x1", "1"))
	stop := h.startLeader(h.metrics)
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.waitForPublication()
	stop()
	return h.waitForPublication()
}

// publishedInFull waits for a publication of everything after a state, which the next leader does not repeat.
func (h *harness) publishedInFull(before cache.PublicationState, also func() error) cache.PublicationState {
	h.t.Helper()
	stop := h.startLeader(prometheus.NewRegistry())
	env.Until(h.t, func() error {
		now, err := h.store.PublicationState(h.t.Context())
		if err == nil && (now.LastFullRevision <= before.Revision || now.Revision < now.LastFullRevision) {
			err = fmt.Errorf("got a full publication at %d, want one after %d", now.LastFullRevision, before.Revision)
		}
		if err == nil && also != nil {
			err = also()
		}
		return err
	})
	stop()
	full := h.waitForPublication().LastFullRevision
	summary, _, err := h.summary(keyOf("dao.eth", "a"))
	env.MustDo(h.t, err)
	votes := env.Must(strconv.Atoi(string(*summary.Totals.Votes)))(h.t)
	h.append(vote("a", fmt.Sprint("0xafter", votes), "5"))
	stop = h.startLeader(prometheus.NewRegistry())
	h.waitForVotes(keyOf("dao.eth", "a"), governance.Decimal(fmt.Sprint(votes+1)))
	env.Want(h.t, full, h.waitForPublication().LastFullRevision, "full publication, and none by the next leader")
	stop()
	return h.waitForPublication()
}

func (h *harness) writeState(published cache.PublicationState) {
	h.t.Helper()
	lease := h.store.NewLease(leaseTTL)
	env.MustDo(h.t, errors.Join(
		lease.Acquire(h.t.Context()), lease.SetPublicationState(h.t.Context(), published, ""), lease.Release(h.t.Context()),
	))
}

// Whether all ballots of a vote are held is one fact: its summary, the list of its ballots, the
// manifest of its export and the ranking of its DAO state it alike.
func TestEveryAnswerStatesWhichBallotsAreHeld(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var records []record.Record
	over := func(id string, votes uint64) *record.Proposal {
		p := proposal(id)
		p.State, p.StatedVotes, p.StatedScores = "closed", &votes, []decimal.Decimal{decimal.NewFromInt(6), decimal.NewFromInt(3)}
		records = append(records, p)
		return p
	}
	over("none", 3)
	over("part", 3)
	over("all", 1).StatedScores = []decimal.Decimal{decimal.NewFromInt(6), decimal.Zero}
	unstated := over("unstated", 3)
	unstated.StatedVotes, unstated.StatedScores = nil, nil
	spam := over("spam", 1)
	spam.Flagged, spam.StatedScores = true, []decimal.Decimal{decimal.NewFromInt(9), decimal.Zero}
	h.append(append(records, vote("part", "0x1", "6"), vote("all", "0x1", "6"), vote("spam", "0x1", "9"))...)
	h.start()
	for id, want := range map[string]string{
		"none":     "unavailable unavailable, 0 of 3 ballots with 0 of 9 by upstream",
		"part":     "ready partial, 1 of 3 ballots with 6 of 9 by upstream",
		"all":      "ready ready, 1 of 1 ballots with 6 of 6 by ballots, final",
		"unstated": "unavailable unavailable, 0 ballots with 0",
		"spam":     "ready ready, 1 of 1 ballots with 9 of 9 by ballots, final, flagged",
	} {
		t.Run(id, func(t *testing.T) {
			q := query.Ballots{Proposal: keyOf("dao.eth", id), Order: query.BallotsByPower}
			q.Limit = query.ShortPage
			env.Until(t, func() error {
				var rows []governance.Ballot
				var export governance.BallotExport
				list, err := h.readView(q, &rows)
				if err != nil {
					return err
				}
				manifest, err := h.readView(query.BallotExport{Proposal: keyOf("dao.eth", id)}, &export)
				if err != nil {
					return err
				}
				if list.VoteCoverage != manifest.VoteCoverage || fmt.Sprint(len(rows)) != string(export.Votes) {
					return fmt.Errorf("got %d rows %s, manifest %s %s", len(rows), list.VoteCoverage, export.Votes, manifest.VoteCoverage)
				}
				got := fmt.Sprintf("%s %s, %s ballots with %s", list.Readiness, list.VoteCoverage, export.Votes, export.VotingPower)
				if export.Totals != nil {
					got = fmt.Sprintf("%s %s, %s of %s ballots with %s of %s by %s", list.Readiness, list.VoteCoverage, export.Votes,
						*export.Totals.Votes, export.VotingPower, export.Totals.VotingPower, *export.Basis)
				}
				if export.Final {
					got += ", final"
				}
				if export.Flagged {
					got += ", flagged"
				}
				if got != want {
					return fmt.Errorf("got %s, want %s", got, want)
				}
				return nil
			})
		})
	}
	env.Until(t, func() error {
		var voters []governance.DAOVoter
		q := query.Voters{DAOID: "dao.eth"}
		q.Limit = query.ShortPage
		view, err := h.readView(q, &voters)
		if err == nil && view.VoteCoverage != governance.VotesPartial {
			err = fmt.Errorf("the ranking: got %q, want %q", view.VoteCoverage, governance.VotesPartial)
		}
		return err
	})
	timeline := env.Must(h.store.View(t.Context(), cache.TimelineKey("dao.eth", governance.VotesCast)))(t)
	env.Want(t, governance.VotesPartial, timeline.VoteCoverage, "the timeline")
}

func TestBallotsWithoutATimeAreInTheMonthOfTheirVoteOrUndated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	during := func(id, start, end string) *record.Proposal {
		p := proposal(id)
		for at, text := range map[**governance.Timestamp]string{&p.StartAt: start, &p.EndAt: end} {
			if parsed, err := governance.ParseTimestamp(text); err == nil {
				*at = &parsed
			}
		}
		return p
	}
	dated := vote("within", "0x3", "1")
	at := governance.Timestamp(1767225600000) // 2026-01-01
	dated.VotedAt = &at
	h.append(
		during("within", "2026-02-01", "2026-02-28"), during("across", "2026-02-01", "2026-03-01"), during("open", "2026-02-01", ""),
		during("reversed", "2026-02-20", "2026-02-10"),
		vote("within", "0x1", "1"), vote("within", "0x2", "1"), dated, vote("across", "0x1", "1"), vote("open", "0x1", "1"), vote("reversed", "0x1", "1"),
	)
	h.startLeader(h.metrics)
	h.waitForPublication()
	for metric, want := range map[string]governance.Timeline{
		governance.VotesCast: {
			DAOID: "dao.eth", Metric: governance.VotesCast, Undated: "3",
			Buckets: []governance.TimelineBucket{{Month: "2026-01", Value: "1"}, {Month: "2026-02", Value: "2"}},
		},
		governance.ProposalsCreated: {
			DAOID: "dao.eth", Metric: governance.ProposalsCreated, Undated: "0", Buckets: []governance.TimelineBucket{{Month: "2026-02", Value: "4"}},
		},
	} {
		got, _, err := read[governance.Timeline](h, cache.TimelineKey("dao.eth", metric))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
