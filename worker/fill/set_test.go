package fill_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker"
	"pnyx/worker/fill"
)

func TestMain(m *testing.M) { env.Main(m) }

type site struct {
	*testing.T

	warehouse *warehouse.Warehouse
	store     *cache.Store
	filler    *fill.Filler
	log       *bytes.Buffer
	redis     redis.UniversalClient
	random    *rand.Rand
	proposals []pages.ListedProposal
	// cast are ballots of the data, by their proposals.
	cast map[governance.ProposalKey][]pages.LatestBallot
}

func newSite(t *testing.T) *site {
	t.Helper()
	url := env.EmbeddedRedis(t)
	store := env.Store(t, url)
	s := &site{
		T: t, warehouse: env.Warehouse(t), store: store, log: &bytes.Buffer{}, redis: env.RedisClient(t, url),
		random: rand.New(rand.NewPCG(1, 2)), cast: map[governance.ProposalKey][]pages.LatestBallot{},
	}
	s.filler = fill.New(fill.Options{
		Warehouse: s.warehouse, Store: store, Timeout: time.Minute,
		Logger: slog.New(slog.NewTextHandler(s.log, nil)), Metrics: prometheus.NewRegistry(),
	})
	generated := env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "5", "--proposals", "60",
		"--ballots", "5000", "--largest", "2500")
	env.Must(importer.Run(t.Context(), []string{generated}, importer.Options{
		Warehouse: s.warehouse, BatchSize: 10_000, RejectsDir: t.TempDir(), TolerateRejects: true, Logger: slog.New(slog.DiscardHandler),
	}))(t)
	s.publish()
	all := query.Proposals{Order: query.ProposalsByCreation}
	all.Limit = query.LongPage
	s.proposals = env.Must(pages.ListProposals(t.Context(), s.warehouse, all))(t)
	for _, p := range s.proposals[:40] {
		ballots := query.Ballots{Proposal: p.Key, Order: query.BallotsByPower}
		ballots.Limit = query.LongPage
		s.cast[p.Key] = env.Must(pages.ListBallots(t.Context(), s.warehouse, pages.BallotSource{Ref: p.Ref}, ballots))(t)
	}
	s.change()
	return s
}

func (s *site) publish() {
	s.Helper()
	env.Must(worker.NewLeader(worker.Options{
		Warehouse: s.warehouse, Store: s.store, PublishInterval: time.Second, LeaseTTL: time.Hour,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}).Settle(s.Context()))(s)
}

// change casts votes again, withdraws some and a proposal, and moves another to another DAO.
func (s *site) change() {
	s.Helper()
	var recast, withdrawn []record.Record
	for _, p := range s.proposals[:40] {
		for i, b := range s.cast[p.Key] {
			again := &record.Ballot{
				Proposal: record.ProposalRef{Provider: p.Identity.Provider, ExternalID: p.Identity.ExternalID},
				VoteID:   fmt.Sprint("again-", p.Key, i), Voter: b.VoterIdentity, Power: decimal.New(int64(s.random.IntN(5)), -1),
				Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1", VotedAt: b.VotedAt,
			}
			if i%3 == 0 {
				again.VotedAt = nil
			}
			if i%5 < 2 {
				recast = append(recast, again)
			}
			if i%5 == 1 {
				back := *again
				back.Withdrawn = true
				withdrawn = append(withdrawn, &back)
			}
		}
	}
	rewritten := func(p pages.ListedProposal, source string, withdrawn bool) *record.Proposal {
		return &record.Proposal{
			ProposalRef: record.ProposalRef{Provider: p.Identity.Provider, ExternalID: p.Identity.ExternalID},
			SourceID:    source, Title: p.Title, Choices: []string{"Yes", "No"}, CreatedAt: p.CreatedAt, EndAt: p.EndAt, Withdrawn: withdrawn,
		}
	}
	var other string
	for _, p := range s.proposals {
		if p.Identity.DAOID != s.proposals[1].Identity.DAOID && p.Identity.Provider == s.proposals[1].Identity.Provider {
			other = p.SourceID
		}
	}
	withdrawn = append(withdrawn, rewritten(s.proposals[0], s.proposals[0].SourceID, true), rewritten(s.proposals[1], other, false))
	for _, all := range [][]record.Record{recast, withdrawn} {
		run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
		env.Must(records.Append(s.Context(), s.warehouse, run, all))(s)
	}
	s.publish()
}

func (s *site) timeOr() *governance.Timestamp {
	if s.random.IntN(3) == 0 {
		return nil
	}
	return s.proposals[s.random.IntN(len(s.proposals))].CreatedAt
}

func (s *site) limit() int {
	return []int{query.ShortPage, query.LongPage, 3}[s.random.IntN(3)]
}

func (s *site) proposal() pages.ListedProposal { return s.proposals[s.random.IntN(40)] }

func (s *site) voter() query.Voter {
	if cast := s.cast[s.proposal().Key]; len(cast) > 0 && s.random.IntN(8) > 0 {
		return query.Voter(cast[s.random.IntN(len(cast))].VoterIdentity)
	}
	return "0x0000000000000000000000000000000000000bad"
}

func (s *site) ballots() query.Page {
	p := s.proposal()
	q := query.Ballots{Proposal: p.Key, Order: []query.BallotOrder{query.BallotsByPower, query.BallotsByTime}[s.random.IntN(2)]}
	if s.random.IntN(10) == 0 {
		q.Proposal = "p1_AAAAAAAAAAAAAAAAAAAAAA"
	}
	q.Limit = s.limit()
	if cast := s.cast[p.Key]; len(cast) > 0 && s.random.IntN(3) > 0 {
		after := q.PositionOf(cast[s.random.IntN(len(cast))].Ballot)
		q.After = &after
	}
	return q
}

func (s *site) votes() query.Page {
	q := query.VoterVotes{Voter: s.voter()}
	if s.random.IntN(3) == 0 {
		q.DAOID = s.proposal().Identity.DAOID
	}
	if s.random.IntN(3) == 0 {
		q.From, q.To = s.timeOr(), s.timeOr()
	}
	if s.random.IntN(4) == 0 {
		q.After = &query.VoterVotePosition{At: s.timeOr(), Proposal: s.proposal().Key}
	}
	q.Limit = s.limit()
	return q
}

func (s *site) list() query.Page {
	orders := []query.ProposalOrder{query.ProposalsByUpdate, query.ProposalsByCreation, query.ProposalsEndingSoon}
	p := s.proposal()
	q := query.Proposals{Order: orders[s.random.IntN(len(orders))]}
	if s.random.IntN(3) > 0 {
		q.DAOID = p.Identity.DAOID
	}
	if s.random.IntN(4) == 0 {
		q.Lifecycles = []governance.Lifecycle{p.Lifecycle}
	}
	if s.random.IntN(4) == 0 {
		q.Outcomes = []governance.Outcome{p.Outcome}
	}
	if s.random.IntN(3) == 0 {
		q.Time, q.From, q.To = query.ProposalCreatedAt, s.timeOr(), s.timeOr()
	}
	q.Limit = s.limit()
	if s.random.IntN(3) == 0 {
		after := p.PositionIn(q.Order)
		q.After = &after
	}
	return q.Canonical()
}

func (s *site) profile() query.Page { return query.Profile{Voter: s.voter()} }

// page is what callers can see of a stored page, without the times that follow the clock.
type page struct {
	Payload  string
	Absent   bool
	Revision uint64
}

// fill answers requests as sets of a size, and returns the pages by keys, removed from Redis.
func (s *site) fill(requests []cache.PageRequest, size int) map[cache.Key]page {
	s.Helper()
	pages := map[cache.Key]page{}
	for chunk := range slices.Chunk(requests, size) {
		fills := make([]cache.Fill, len(chunk))
		for i, r := range chunk {
			fills[i] = cache.Fill{Page: r, Deadline: governance.TimestampOf(time.Now().Add(time.Hour))}
		}
		s.filler.Fill(s.Context(), fills)
	}
	for _, r := range requests {
		v, _, err := s.store.Page(s.Context(), r)
		switch {
		case errors.Is(err, cache.ErrMiss) || err == nil && v.Absent:
			// Redis keeps an absent page for seconds. One that failed is in the log.
			pages[r.Key()] = page{Absent: true}
		case err != nil:
			s.Fatal(err)
		default:
			pages[r.Key()] = page{Payload: string(v.Payload), Revision: v.Revision}
		}
	}
	for _, r := range requests {
		env.MustDo(s, s.redis.Del(s.Context(), string(r.Key())).Err())
	}
	return pages
}

func TestLongPagesMadeTogetherAreThoseMadeAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kinds := map[string]func() query.Page{
		"ballots": s.ballots, "profiles": s.profile, "histories": s.votes, "lists": s.list,
		"mixed": func() query.Page {
			return []func() query.Page{s.ballots, s.profile, s.votes, s.list}[s.random.IntN(4)]()
		},
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(name, func(t *testing.T) {
			requests := make([]cache.PageRequest, 40)
			for i := range requests {
				requests[i] = cache.NewPageRequest(kinds[name]())
			}
			together, alone := s.fill(requests, len(requests)), s.fill(requests, 1)
			env.WantSame(t, "pages that were made together differ", alone, together)
			rows := 0
			for _, p := range alone {
				if !p.Absent && len(p.Payload) > 1 {
					rows++
				}
			}
			if rows < len(alone)/4 {
				t.Errorf("got %d pages with rows among %d, want a quarter at least: the data has none to compare", rows, len(alone))
			}
		})
	}
	if s.log.Len() > 0 {
		t.Errorf("got the log %s, want none: a set failed", s.log)
	}
}
