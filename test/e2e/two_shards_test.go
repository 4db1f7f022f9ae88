package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// One data set in a warehouse of one engine and in one of two shards, both served, has the same answers about
// every DAO, proposal, topic and voter. Then a shard stops.
func TestLongTwoShardsAnswerAsOneServer(t *testing.T) {
	env.RequireEngine(t)
	// The shape of the demonstration, which has every feature, with a proposal that has a sorted copy and four of pages.
	data := env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "8", "--proposals", "80", "--ballots", "36000", "--largest", "22000")
	slow := []string{"PNYX_LEASE_TTL=5s", "PNYX_STALE_AFTER=1m"}
	single := start(t, t.TempDir(), slow, "serve").ready()
	shards, redis := env.EngineShards(t), env.Redis(t)
	two := start(t, t.TempDir(), append(slow, "REDIS_URL="+redis.URL,
		"CLICKHOUSE_URL="+shards[0].Instance().URL("pnyx"), "CLICKHOUSE_CLUSTER="+engine.ClusterName), "serve").ready()
	for _, i := range []*instance{single, two} {
		i.Import(data)
		i.AwaitPublished()
		i.AwaitFeed()
	}
	for n, s := range shards {
		rows := env.Column(t, env.ConnectWarehouse(t, s.Instance().URL("pnyx")), "SELECT toString(count()) FROM ballots_local")
		t.Logf("shard %d holds %s casts", n, rows[0])
		if rows[0] == "0" {
			t.Errorf("got no casts on shard %d, want some", n)
		}
	}
	said := single.everything()
	n := 0
	said.views = slices.DeleteFunc(said.views, func(path string) bool {
		if strings.HasSuffix(path, "/evidence") {
			n++
		}
		return strings.HasSuffix(path, "/evidence") && n%5 != 0 // a dossier takes longer than all other views
	})
	t.Logf("%d answers are compared, %d of them lists that are walked to their ends", len(said.views)+len(said.lists), len(said.lists))
	said.viewsEqual(t, single, two)
	said.listsEqual(t, single, two)
	if t.Failed() {
		return
	}

	// While a shard is down and Redis is empty, no partial data is published.
	k := recordedAnswers{paths: two.mixedPaths()}
	k.record(t, two)
	k.during(t, two, func() {
		shards[1].Stop()
		env.FlushRedis(t, env.RedisClient(t, redis.URL))
		two.saysAgain("publication interrupted", 1)
		shards[1].Start()
	})
	said.viewsEqual(t, single, two)
}

// everything holds the paths of all answers about a data set.
type everything struct {
	views []string
	lists []string
}

// everything collects the paths of all data of an instance.
func (i *instance) everything() (all everything) {
	i.TB.Helper()
	for _, sort := range []string{"updatedDesc", "createdDesc", "endingSoon"} {
		all.lists = append(all.lists, "/v2/proposals?sort="+sort, "/v2/proposals?lifecycleStatus=closed&outcome=passed,failed&sort="+sort)
	}
	all.lists = append(all.lists, "/v2/daos", "/v2/daos?hasVoteData=true",
		"/v2/forum-topics?sort=createdDesc", "/v2/forum-topics?sort=repliesDesc", "/v2/forum-topics?governanceRelated=true")
	for _, window := range []string{"from=2026-03-10&to=2026-06-01", "from=2025-12-20&to=2026-03-10"} {
		all.lists = append(all.lists, "/v2/events?"+window, "/v2/signals?"+window)
	}
	for n, dao := range i.ids("/v2/daos", "daoId") {
		path := "/v2/daos/" + dao
		all.views = append(all.views, path, path+"/timeline?metric=votes_cast", path+"/timeline?metric=proposals_created",
			path+"/voters?limit=100", "/v2/meta/data-status?daoId="+dao)
		if n == 0 {
			all.lists = append(all.lists, path+"/voters", "/v2/proposals?daoId="+dao)
		}
	}
	for _, proposal := range i.ids("/v2/proposals", "proposalKey") {
		path := "/v2/proposals/" + proposal
		all.views = append(all.views, path, path+"/votes/summary", path+"/evidence", path+"/votes?order=time")
	}
	for _, proposal := range i.LargestProposals(5) { // the first is read from a sorted copy
		all.lists = append(all.lists, "/v2/proposals/"+proposal+"/votes?order=power", "/v2/proposals/"+proposal+"/votes?order=time")
	}
	for _, topic := range i.ids("/v2/forum-topics", "topicKey") {
		all.views = append(all.views, "/v2/forum-topics/"+topic)
	}
	for n, voter := range i.BusiestVoters(50) {
		path := "/v2/voters/" + url.PathEscape(voter)
		all.views = append(all.views, path)
		if n%10 == 0 {
			all.lists = append(all.lists, path+"/votes")
		}
	}
	return all
}

// ids walks a list and returns a field of each row.
func (i *instance) ids(list, field string) (ids []string) {
	i.TB.Helper()
	rows := env.Must(i.Walk(list, 100))(i.TB)
	for _, row := range rows {
		var fields map[string]json.RawMessage
		var id string
		env.MustDo(i.TB, cmp.Or(json.Unmarshal(row, &fields), json.Unmarshal(fields[field], &id)))
		ids = append(ids, id)
	}
	return ids
}

// awaitDossiers waits until an instance answers no view with a dossier that is being computed.
func (all everything) awaitDossiers(i *instance) {
	i.TB.Helper()
	missing := slices.DeleteFunc(slices.Clone(all.views), func(path string) bool { return !strings.HasSuffix(path, "/evidence") })
	for len(missing) > 0 { // each round waits until there are fewer
		env.Until(i.TB, func() error {
			before, computed := len(missing), make([]bool, len(missing))
			env.Concurrently(i.TB, env.FillConcurrency, len(missing), func(n int) error {
				var evidence struct{ Intelligence struct{ Status string } }
				_, err := i.Read(missing[n], &evidence)
				computed[n] = err == nil && evidence.Intelligence.Status == "available"
				return nil
			})
			var left []string
			for n, path := range missing {
				if !computed[n] {
					left = append(left, path)
				}
			}
			if missing = left; len(missing) == before {
				return fmt.Errorf("%d dossiers are not computed, the first at %s", len(missing), missing[0])
			}
			return nil
		})
	}
}

// viewsEqual compares all views of two instances.
func (all everything) viewsEqual(t *testing.T, one, two *instance) {
	t.Helper()
	all.awaitDossiers(one)
	all.awaitDossiers(two)
	env.Concurrently(t, env.FillConcurrency, len(all.views), func(n int) error {
		var right, got json.RawMessage
		_, err := one.Read(all.views[n], &right)
		_, errTwo := two.Read(all.views[n], &got)
		if err = cmp.Or(err, errTwo); err != nil {
			return err
		}
		if right, got = timeless(right), timeless(got); !bytes.Equal(right, got) {
			return fmt.Errorf("GET %s (-one server +two shards):\n%s", all.views[n], gocmp.Diff(env.Plain(right), env.Plain(got)))
		}
		return nil
	})
}

// listsEqual walks all lists of two instances and compares their rows.
func (all everything) listsEqual(t *testing.T, one, two *instance) {
	t.Helper()
	env.Concurrently(t, env.FillConcurrency, len(all.lists), func(n int) error {
		limit := 100
		if strings.Contains(all.lists[n], "/votes?") {
			limit = 500
		}
		want, err := one.Walk(all.lists[n], limit)
		if err != nil {
			return err
		}
		return two.CheckList(all.lists[n], limit, want)
	})
}

// importedAt are the times that differ between two imports, and what names records with them.
var importedAt = regexp.MustCompile(`"(observedAt|governanceAt|forumAt|generatedAt|artifactVersion|sha256)":"[^"]*"`)

func timeless(data json.RawMessage) json.RawMessage {
	return importedAt.ReplaceAll(data, []byte(`"$1":""`))
}
