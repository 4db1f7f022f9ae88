package drills

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

// longPublication delays the answers of Redis, so that a publication can be interrupted.
const longPublication = 150 * time.Millisecond

// workerDrills break the worker that leads.
func workerDrills() []drill {
	two := deploymentOptions{workers: 2}
	return []drill{
		{
			name: "Worker killed in the middle of a publication", deployment: two,
			fault: "SIGKILL of the leader when part of a revision is in Redis; another one is there",
			breaks: func(s *deployment) func() {
				s.catchPublishing().Kill()
				s.workerToRedis.mend()
				s.awaitLeadAfter(s.caught)
				return nil
			},
			after: func(s *deployment) string { return s.remark },
		},
		{
			name: "Leader paused past its lease", deployment: two, lasts: 15 * time.Second,
			fault: "SIGSTOP for 15 s in the middle of a publication, then two lead",
			breaks: func(s *deployment) func() {
				paused := s.catchPublishing()
				s.workerToRedis.mend()
				return paused.Resume
			},
			after: func(s *deployment) string {
				leading := s.leader()
				return "the other one led on: " + fmt.Sprint(leading != s.caught)
			},
		},
		{
			name: "Leader ends", deployment: deploymentOptions{workers: 2, environ: []string{"PNYX_LEASE_TTL=60s", "PNYX_STALE_AFTER=90s"}},
			fault: "SIGTERM of the leader, whose lease of 60 s has just begun",
			breaks: func(s *deployment) func() {
				leading := s.leader()
				go leading.Stop()
				s.awaitLeadAfter(leading)
				return nil
			},
			after: func(s *deployment) string { return s.remark },
		},
		{
			name: "No worker at all", fault: "SIGKILL of the only worker; started again after 30 s", lasts: 30 * time.Second,
			breaks: func(s *deployment) func() { s.workers[0].Kill(); return s.workers[0].Start },
		},
	}
}

// awaitLeadAfter waits until another worker leads, and notes how long that takes.
func (s *deployment) awaitLeadAfter(former *node) {
	s.tb.Helper()
	began := time.Now()
	env.Within(s.tb, 40*time.Second, func() error {
		for _, w := range s.workers {
			if leads, err := w.metric("pnyx_worker_leading"); w != former && err == nil && leads == 1 {
				return nil
			}
		}
		return errors.New("no other worker leads yet")
	})
	s.remark = fmt.Sprintf("the other leads after %.1f s", time.Since(began).Seconds())
}

// catchPublishing pauses the leader in the middle of a publication, and returns it.
func (s *deployment) catchPublishing() *node {
	s.tb.Helper()
	leading := s.leader()
	store := env.Must(cache.Open("redis://"+s.redis.Addr, time.Second))(s.tb)
	defer store.Close()
	s.workerToRedis.delay(longPublication)
	env.Within(s.tb, time.Minute, func() error {
		leading.Pause()
		half, err := s.halfPublished(store)
		if err != nil || !half {
			leading.Resume()
			return errors.Join(err, errors.New("nothing is half published"))
		}
		return nil
	})
	s.caught = leading
	return leading
}

// halfPublished reports whether the poll is at a later revision than is published.
func (s *deployment) halfPublished(store *cache.Store) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	published, err := store.PublicationState(ctx)
	if err != nil {
		return false, err
	}
	view, err := store.View(ctx, cache.VoteSummaryKey(governance.ProposalKey(s.poll.key)))
	return view.Revision > published.Revision, err
}
