package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// everyPath is one path of each route that the samples have an answer for.
func everyPath() []string {
	return []string{
		"/v2/meta/data-status", "/v2/meta/data-status?daoId=uniswap", "/v2/daos", "/v2/daos/uniswap",
		"/v2/proposals/" + string(countedKey), summaryPath(countedKey),
	}
}

// wantReadiness checks the data readiness that an answer states.
func (t *node) wantReadiness(path string, want governance.Readiness) {
	t.Helper()
	env.Want(t, want, t.wantSuccess(path).Meta.Readiness.Status, "readiness of", path)
}

func TestAnswersAreStaleWithoutAHeartbeat(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	n := startNode(t, settings{clock: func() time.Time { return noon.Add(time.Duration(clock.Load())) }})
	for silence, want := range map[time.Duration]governance.Readiness{
		0:                                 governance.Ready,
		staleAfter:                        governance.Ready,
		staleAfter + time.Millisecond:     governance.Stale,
		24 * time.Hour:                    governance.Stale,
		-time.Hour:                        governance.Ready, // clocks of two machines differ
		staleAfter - 100*time.Millisecond: governance.Ready,
	} {
		t.Run(silence.String(), func(t *testing.T) {
			clock.Store(int64(silence - time.Second)) // the samples' worker was heard a second before noon
			for _, path := range everyPath() {
				n.wantReadiness(path, want)
				env.Want(t, dataAsOf, n.wantSuccess(path).Meta.DataAsOf, "GET", path, "after", silence, "data as of")
			}
		})
	}
}

func TestViewIsStaleLongAfterFreshUntil(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for over, want := range map[time.Duration]governance.Readiness{
		-time.Hour:                    governance.Ready,
		0:                             governance.Ready,
		staleAfter:                    governance.Ready, // the worker is about to write it anew
		staleAfter + time.Millisecond: governance.Stale,
	} {
		t.Run(over.String(), func(t *testing.T) {
			until := governance.TimestampOf(noon.Add(-over))
			n.write(2, cache.View{Readiness: governance.Ready, FreshUntil: &until}, map[cache.Key]any{
				cache.DAODetailKey("uniswap"): uniswapDetail(),
			})
			n.API.ForgetCopies()
			n.wantReadiness("/v2/daos/uniswap", want)
			n.wantReadiness("/v2/daos", governance.Ready)
		})
	}
}

func TestAnswersKeepTheReadinessOfTheirView(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, want := range []governance.Readiness{
		governance.Ready, governance.ReadinessBackfilling, governance.ReadinessUnavailable, governance.Stale,
	} {
		n.write(2, cache.View{Readiness: want}, map[cache.Key]any{cache.DAODetailKey("uniswap"): uniswapDetail()})
		n.API.ForgetCopies()
		n.wantReadiness("/v2/daos/uniswap", want)
	}
}

// wantUnavailable checks that an answer is a 503 that says when to come back.
func (t *node) wantUnavailable(path string) {
	t.Helper()
	got := t.get(path)
	t.wantFailure(got, http.StatusServiceUnavailable, apierror.CodeUnavailable)
	env.Want(t, "2", got.header.Get("Retry-After"), "GET", path, "Retry-After")
	t.wantNothingInternal(got)
}

// wantRepublish checks that a full publication is requested.
func (t *node) wantRepublish() {
	t.Helper()
	env.Want(t, true, env.Must(t.Store.Standing(t.Context()))(t).RepublishRequested, "a full publication to be requested")
}

// wantNothingInternal checks that an answer shows nothing of how it is made.
func (t *node) wantNothingInternal(got answer) {
	t.Helper()
	text := strings.ToLower(fmt.Sprint(got.header, got.body))
	for _, internal := range []string{
		"redis", "dial", "127.0.0.1", "refused", "timeout", "deadline", "pool", "msgpack", "decode", "miss", "cache is", "not in the cache",
		"panic", "nil pointer", "goroutine", "runtime", ".go:", "pnyx/", "fiber", "fasthttp",
	} {
		if strings.Contains(text, internal) {
			t.Errorf("got %v %s, which shows %q", got.header, got.body, internal)
		}
	}
}

func TestBeforeTheFirstPublicationEverythingIsUnavailable(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{unpublished: true})
	for _, path := range append(everyPath(), "/v2/daos/nobody", "/v2/proposals/"+string(unknownKey)) {
		n.wantUnavailable(path)
	}
	env.WantError(t, cache.ErrMiss, n.API.Ready(t.Context()), "ready")
	// A wrong request is wrong whatever is published.
	n.wantProblems("/v2/daos?limit=0")
	n.wantFailure(n.get("/nowhere"), http.StatusNotFound, apierror.CodeNotFound)

	n.publishSamples()
	env.Until(n, func() error { return n.API.Ready(t.Context()) }) // tokens are known at its next look
	n.wantFailure(n.get("/v2/daos/nobody"), http.StatusNotFound, apierror.CodeNotFound)
	env.Until(n, func() error { // now its next look
		if got := n.wantSuccess("/v2/daos").Meta.Readiness.Status; got != governance.Ready {
			return fmt.Errorf("readiness: got %s, want %s", got, governance.Ready)
		}
		return nil
	})
}

// Only when everything is published does a missing key say that there is no such
// thing.
func TestMissingViewIs404OnlyAfterAFullPublication(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	unknown := []string{
		"/v2/daos/nobody", "/v2/meta/data-status?daoId=nobody", "/v2/proposals/" + string(unknownKey), summaryPath(unknownKey),
	}
	for _, path := range unknown {
		n.wantFailure(n.get(path), http.StatusNotFound, apierror.CodeNotFound)
	}
	env.FlushRedis(t, env.RedisClient(t, n.redisURL))
	for _, path := range append(unknown, everyPath()...) {
		n.wantUnavailable(path)
	}
	// While it is filled anew, what is there is served.
	n.write(2, cache.View{Readiness: governance.Ready}, map[cache.Key]any{cache.DAODetailKey("uniswap"): uniswapDetail()})
	n.wantUnavailable("/v2/daos/uniswap") // without its sources
	n.write(2, cache.View{Readiness: governance.Ready}, map[cache.Key]any{cache.DataStatusKey("uniswap"): governance.DataStatus{}})
	n.wantSuccess("/v2/daos/uniswap")
	n.wantUnavailable("/v2/daos/nobody")
}

// A server that was restarted or failed over may lack the last writes, or all since it was saved.
func TestMissingViewIs503UntilEverythingIsPublishedToTheServerThatRuns(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{redisURL: env.Redis(t).URL})
	unknown := []string{"/v2/daos/nobody", "/v2/proposals/" + string(unknownKey)}
	for _, path := range unknown {
		n.wantFailure(n.get(path), http.StatusNotFound, apierror.CodeNotFound)
	}
	published := env.Must(n.Store.PublicationState(t.Context()))(t)
	published.ServerRunIDs = "the server before"
	n.setPublished(published)
	n.API.ForgetCopies()
	for _, path := range unknown {
		n.wantUnavailable(path)
	}
	n.wantSuccess("/v2/daos/uniswap")
}

// A version outlives the view that was written before it only where somebody deletes the view.
func TestALostViewIsUnavailableAndAskedForAgain(t *testing.T) {
	t.Parallel()
	dao, proposal := query.Voters{DAOID: "uniswap"}.Scope(), query.Ballots{Proposal: countedKey}.Scope()
	for name, test := range map[string]struct {
		key     cache.Key
		path    string
		version uint64
		scope   query.Scope
		lost    bool
	}{
		"DAO":                 {cache.DAODetailKey("uniswap"), "/v2/daos/uniswap", 2, dao, true},
		"proposal":            {cache.EvidenceKey(countedKey), "/v2/proposals/" + string(countedKey) + "/evidence", 1, proposal, true},
		"is being published":  {cache.EvidenceKey(countedKey), "/v2/proposals/" + string(countedKey) + "/evidence", 3, proposal, false},
		"was never published": {cache.DAODetailKey("uniswap"), "/v2/daos/uniswap", 1, proposal, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			writer := n.Store.NewWriter(test.version)
			writer.SetVersion(t.Context(), test.scope, 0)
			env.MustDo(t, writer.Flush(t.Context()))
			env.MustDo(t, env.RedisClient(t, n.redisURL).Del(t.Context(), string(test.key)).Err())
			if test.lost {
				n.wantUnavailable(test.path)
			} else {
				n.wantFailure(n.get(test.path), http.StatusNotFound, apierror.CodeNotFound)
			}
			env.Want(t, test.lost, env.Must(n.Store.Standing(t.Context()))(t).RepublishRequested, "it to be asked for again")
		})
	}
}

// The status of all data names no DAO that might not exist.
func TestALostStatusOfAllDataIsUnavailableAndAskedForAgain(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	client := env.RedisClient(t, n.redisURL)
	for _, key := range []cache.Key{cache.DataStatusKey(""), cache.DAODetailKey("uniswap")} {
		env.MustDo(t, client.Del(t.Context(), string(key)).Err())
	}
	n.wantUnavailable("/v2/meta/data-status")
	found, err := n.Store.Standing(t.Context())
	if err != nil || !found.RepublishRequested {
		t.Errorf("got %+v, %v, want a full publication requested", found, err)
	}
	if got := n.get("/v2/daos/uniswap"); got.status != http.StatusNotFound || strings.Contains(got.body, "did you mean") {
		t.Errorf("got %d %s, want 404 without itself as what is meant", got.status, got.body)
	}
}

func TestWarehouseWithoutDAOsHasAnEmptyList(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{unpublished: true})
	n.setPublished(cache.PublicationState{
		Revision: 7, CommittedThrough: noon.Add(-time.Minute).UnixMicro(), HeartbeatAt: governance.TimestampOf(noon), CursorKey: []byte(cursorKey),
	})
	n.waitWatched()
	got := n.wantSuccess("/v2/daos?limit=3&hasVoteData=true")
	if string(got.Data) != "[]" || got.Meta.Page == nil || got.Meta.Page.Limit != 3 || got.Meta.Page.HasMore {
		t.Errorf("got %s, page %+v, want an empty page of 3", got.Data, got.Meta.Page)
	}
	if want := *ago(60); got.Meta.DataAsOf != want || got.Meta.Readiness.Status != governance.Ready {
		t.Errorf("got data as of %s, %s, want %s, ready", got.Meta.DataAsOf, got.Meta.Readiness.Status, want)
	}
}

func TestEverythingIsUnavailableWithoutRedis(t *testing.T) {
	t.Parallel()
	n, _, stopRedis := loneNode(t)
	stopRedis()
	for _, path := range everyPath() {
		n.wantUnavailable(path)
	}
	env.WantError(t, cache.ErrUnavailable, n.API.Ready(t.Context()), "ready")
	if log := n.Logged.String(); !strings.Contains(log, "cache is unavailable") || !strings.Contains(log, `"status":503`) {
		t.Errorf("log: got %s, want the cause of the 503s", log)
	}
}

func TestPayloadThatDoesNotDecodeIsUnavailableAndAskedForAgain(t *testing.T) {
	t.Parallel()
	for payload, again := range map[string]bool{"no detail": true, "withheld": false} {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			n.write(2, cache.View{Readiness: governance.Ready}, map[cache.Key]any{cache.DAODetailKey("uniswap"): payload})
			n.wantUnavailable("/v2/daos/uniswap")
			env.Want(t, again, env.Must(n.Store.Standing(t.Context()))(t).RepublishRequested, "it to be asked for again")
		})
	}
}

func TestListThatLostARowIsUnavailable(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	client := env.RedisClient(t, n.redisURL)
	rows, err := client.Keys(t.Context(), "*{daos}:rows").Result()
	if err != nil || len(rows) != 1 {
		t.Fatalf("rows of the directory: got %v, %v, want one hash", rows, err)
	}
	if gone, err := client.HDel(t.Context(), rows[0], "uniswap").Result(); err != nil || gone != 1 {
		t.Fatalf("remove the row of uniswap: got %d, %v, want one", gone, err)
	}
	n.wantUnavailable("/v2/daos")
	n.wantRepublish()
	n.wantSuccess("/v2/daos?hasVoteData=false") // a page without it is whole
}

// An empty list is one of a warehouse without DAOs.
func TestListWithoutItsStateIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"lost": "", "cut off": "0000000000000001\x81"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			client := env.RedisClient(t, n.redisURL)
			key := env.Must(client.Keys(t.Context(), "*{daos}:state").Result())(t)[0]
			env.MustDo(t, client.Del(t.Context(), key).Err())
			if state != "" {
				env.MustDo(t, client.Set(t.Context(), key, state, 0).Err())
			}
			n.wantUnavailable("/v2/daos")
			n.wantRepublish()
		})
	}
}

func TestLostListIsUnavailableAndAskedForAgain(t *testing.T) {
	t.Parallel()
	for key, path := range map[string]string{"{daos}:list::::": "/v2/daos", "{worker}:changes": "/v2/changes"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			env.Want(t, 1, env.Must(env.RedisClient(t, n.redisURL).Del(t.Context(), cache.Namespace+key).Result())(t), "deleted keys")
			n.wantUnavailable(path)
			n.wantRepublish()
		})
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{broken: true})
	for _, path := range everyPath() {
		got := n.get(path)
		failed := n.wantFailure(got, http.StatusInternalServerError, apierror.CodeInternal)
		n.wantNothingInternal(got)
		if log := n.Logged.String(); !strings.Contains(log, "nil pointer") || !strings.Contains(log, failed.Meta.RequestID) {
			t.Errorf("log of %s: got %s, want the cause and the request's id", path, log)
		}
	}
}
