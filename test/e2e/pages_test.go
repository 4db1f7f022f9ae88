package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

func TestConcurrentRequestsShareOneFill(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	environ := []string{"REDIS_URL=" + env.Redis(t).URL}
	i := startShared(t, environ, "serve").ready()
	i.Import(env.DataSet(t, 4_000))
	i.AwaitPublished()
	other := start(t, t.TempDir(), environ, "api").ready()
	proposals, voters := i.LargestProposals(tries), i.BusiestVoters(tries)
	daos := i.Column("SELECT dao_id FROM proposal_states FINAL GROUP BY dao_id ORDER BY sum(votes) DESC LIMIT ?", tries)
	for query, path := range map[string]func(n int) string{
		"reason) AS reason,":              func(n int) string { return "/v2/proposals/" + proposals[n] + "/votes?order=time&limit=37" },
		"row_number()":                    func(n int) string { return "/v2/daos/" + daos[n] + "/voters" },
		"BY voter SETTINGS":               func(n int) string { return "/v2/voters/" + voters[n] },
		"choice_form,\n    flagged\nFROM": func(n int) string { return "/v2/voters/" + voters[n] + "/votes" },
	} {
		i.wantOneQuery(other, query, path)
	}
}

// tries is how many pages of a kind to request: after a publication, or on a busy machine, one is made again.
const tries = 5

// wantOneQuery sends 200 concurrent requests for one page to two nodes, and wants one warehouse query.
func (i *instance) wantOneQuery(other *instance, query string, path func(n int) string) {
	i.TB.Helper()
	for n := range tries {
		revision, before := i.Metric("pnyx_publish_revision"), i.queriesWith(query)
		askTogether(i.TB, path(n), 200, i, other)
		var made uint64
		env.Until(i.TB, func() error { // log lines arrive after the response
			if made = i.queriesWith(query) - before; made == 0 {
				return fmt.Errorf("200 requests for %s: no warehouse query is logged", path(n))
			}
			return nil
		})
		if made == 1 && i.Metric("pnyx_publish_revision") == revision {
			return
		}
		i.TB.Logf("200 requests for %s: got %d warehouse queries", path(n), made)
	}
	i.TB.Errorf("got no page like %s for which 200 requests led to one warehouse query", path(0))
}

// askTogether sends concurrent requests to nodes in rotation and checks that all answers are equal.
func askTogether(tb testing.TB, path string, requests int, nodes ...*instance) {
	tb.Helper()
	answers := make([]json.RawMessage, requests)
	env.Concurrently(tb, requests, requests, func(n int) error {
		_, err := nodes[n%len(nodes)].Read(path, &answers[n])
		return err
	})
	for _, answer := range answers {
		if len(answer) < 100 || !bytes.Equal(answer, answers[0]) {
			tb.Errorf("GET %s: got two answers to the same request, or an empty one:\n%s\n%s", path, answers[0], answer)
			return
		}
	}
}

// queriesWith counts the completed queries of the database that contain a text, by the log.
func (i *instance) queriesWith(part string) (finished uint64) {
	i.TB.Helper()
	conn := i.Warehouse()
	env.MustDo(i.TB, conn.Exec(i.TB.Context(), "SYSTEM FLUSH LOGS"))
	row := conn.QueryRow(i.TB.Context(), `
		SELECT count() FROM system.query_log
		WHERE type = 'QueryFinish' AND current_database = currentDatabase() AND query_kind = 'Select' AND position(query, ?) > 0 AND position(query, 'query_log') = 0`, part)
	env.MustDo(i.TB, row.Scan(&finished))
	return finished
}

// awaitPage reads a page, which may be refused at first.
func (i *instance) awaitPage(path string, limit int, cursor string) (page env.Page) {
	i.TB.Helper()
	env.Until(i.TB, func() (err error) {
		page, err = i.Page(path, limit, cursor)
		return err
	})
	return page
}

// mixedPaths returns a few paths of every kind of answer, with pages in the middle of lists.
func (i *instance) mixedPaths() (paths []string) {
	i.TB.Helper()
	paths = append(paths, "/v2/daos?limit=100", "/v2/daos?limit=100&hasVoteData=true")
	for _, dao := range i.Column("SELECT dao_id FROM proposal_states FINAL GROUP BY dao_id ORDER BY dao_id LIMIT 5") {
		path := "/v2/daos/" + dao
		paths = append(paths, path, path+"/voters", path+"/voters?limit=100", path+"/timeline?metric=votes_cast")
	}
	for _, proposal := range i.LargestProposals(5) {
		path := "/v2/proposals/" + proposal
		paths = append(paths, path, path+"/votes/summary")
		for _, order := range []string{"power", "time"} {
			for page, cursor := 0, ""; page < 4; page++ {
				p := i.awaitPage(path+"/votes?order="+order, 25, cursor)
				paths = append(paths, strings.TrimSuffix(path+"/votes?limit=25&order="+order+"&cursor="+cursor, "&cursor="))
				cursor = p.Next
			}
		}
	}
	for _, voter := range i.BusiestVoters(5) {
		paths = append(paths, "/v2/voters/"+voter, "/v2/voters/"+voter+"/votes")
	}
	return paths
}

func TestLongAnswersTurnStaleWithoutAWorker(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	redis, warehouse := "REDIS_URL="+env.Redis(t).URL, "CLICKHOUSE_URL="+env.DatabaseURL(t)
	workerEnv := []string{redis, warehouse, "PNYX_LEASE_TTL=1s"}
	worker := start(t, t.TempDir(), workerEnv, "worker")
	// The warehouse is for this test's own queries: the role does not read it.
	node := start(t, t.TempDir(), []string{redis, warehouse, "PNYX_LEASE_TTL=1s", "PNYX_STALE_AFTER=3s"}, "api").ready()
	// Pages that nobody makes are refused once a request has waited for them.
	hasty := start(t, t.TempDir(), []string{
		redis, "PNYX_REQUEST_TIMEOUT=1s", "PNYX_CACHE_TIMEOUT=900ms", "PNYX_LIMIT_TIMEOUT=900ms",
	}, "api")
	worker.Import(env.DataSet(t, 4_000))
	worker.AwaitPublished()
	paths, cold := node.mixedPaths(), node.BusiestVoters(50)[40:]
	before := make([]env.Response, len(paths))
	for n, path := range paths {
		env.Until(t, func() (err error) {
			before[n], err = node.Read(path, new(json.RawMessage))
			return err
		})
	}
	// Answers stay ready for longer than PNYX_STALE_AFTER while a worker confirms them.
	confirmed := float64(time.Now().Add(4 * time.Second).Unix())
	env.Until(t, func() error {
		if through := worker.Metric("pnyx_publish_sealed_through_timestamp_seconds"); through < confirmed {
			return fmt.Errorf("the worker has confirmed the answers of %.0f, want %.0f", through, confirmed)
		}
		return nil
	})
	node.stillAnswers(paths, before, "ready")

	worker.Stop()
	node.stillAnswers(paths, before, "stale")
	env.Concurrently(t, len(cold), len(cold), func(n int) error {
		ready, err := hasty.answerOrRefusal("/v2/voters/" + cold[n])
		if err == nil && ready {
			err = fmt.Errorf("got an answer for %s, want none without a worker", cold[n])
		}
		return err
	})

	start(t, t.TempDir(), workerEnv, "worker")
	node.stillAnswers(paths, before, "ready")
	env.Until(t, func() error {
		_, err := node.Read("/v2/voters/"+cold[0], new(json.RawMessage))
		return err
	})
}

// stillAnswers waits until all answers have the readiness, with the same data and dataAsOf.
func (i *instance) stillAnswers(paths []string, before []env.Response, readiness string) {
	i.TB.Helper()
	for n, path := range paths {
		env.Until(i.TB, func() error {
			now := env.Must(i.Read(path, new(json.RawMessage)))(i.TB)
			was := before[n]
			if diff := cmp.Diff(env.Plain(was.Data), env.Plain(now.Data)); diff != "" || was.Meta.DataAsOf > now.Meta.DataAsOf ||
				readiness == "stale" && was.Meta.DataAsOf != now.Meta.DataAsOf {
				i.TB.Fatalf("GET %s: the answer as of %s differs from that as of %s:\n%s", path, now.Meta.DataAsOf, was.Meta.DataAsOf, diff)
			}
			if got := now.Meta.Readiness.Status; got != readiness {
				return fmt.Errorf("GET %s: readiness %q, want %q", path, got, readiness)
			}
			return nil
		})
	}
}
