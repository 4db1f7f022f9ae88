package e2e_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/access"
	"pnyx/test/env"
)

// twoNodes are an instance with the demonstration's data and another API node on its Redis.
type twoNodes struct {
	*testing.T

	environ       []string
	first, second *instance
	redis         redis.UniversalClient
	// paid is the path of a paid route.
	paid string
	// secrets are the raw tokens that were made.
	secrets []string
}

func startTwoNodes(t *testing.T, environ ...string) *twoNodes {
	t.Helper()
	env.RequireEngine(t)
	server := env.Redis(t)
	// Quotas are exact while Redis answers in time. A busy machine needs longer timeouts.
	environ = append([]string{"REDIS_URL=" + server.URL, "PNYX_FREE_RATE=0"}, environ...)
	a := &twoNodes{T: t, environ: environ, redis: env.RedisClient(t, server.URL)}
	a.first = startShared(t, environ, "serve", "--demo").ready()
	a.second = start(t, t.TempDir(), environ, "api").ready()
	var daos []struct {
		DAOID string `json:"daoId"`
	}
	a.first.Get("/v2/daos?limit=1", &daos)
	a.paid = "/v2/daos/" + daos[0].DAOID + "/timeline?metric=votes_cast"
	return a
}

// pnyx runs a command that must succeed, and returns what it printed.
func (a *twoNodes) pnyx(args ...string) string {
	a.Helper()
	return env.MustRun(a, a.first.Environ, args...)
}

// issuedToken is a new token as a command prints it.
type issuedToken struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// issueToken issues a token with flags of the command.
func issueToken(tb testing.TB, environ []string, flags ...string) (issued issuedToken) {
	tb.Helper()
	out := env.MustRun(tb, environ, append([]string{"token", "issue", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &issued); err != nil {
		tb.Fatalf("pnyx token issue: %v in %s", err, out)
	}
	return issued
}

// awaitToken waits until a token is accepted: a process reads new ones with its next publication.
func (i *instance) awaitToken(token string) {
	i.TB.Helper()
	env.Until(i.TB, func() error {
		if status, body := i.statusOf("/v2/meta/usage", token); status != http.StatusOK {
			return fmt.Errorf("usage of the token: %d %s", status, body)
		}
		return nil
	})
}

// make runs a token command that prints a new token.
func (a *twoNodes) make(args ...string) issuedToken {
	a.Helper()
	var m issuedToken
	out := a.pnyx(append(append([]string{"token"}, args...), "--json")...)
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.ID == "" || !strings.HasPrefix(m.Token, "pnyx_"+m.ID+"_") {
		a.Fatalf("pnyx token %v: %v in %s", args, err, out)
	}
	a.secrets = append(a.secrets, m.Token)
	return m
}

// issue makes a token of the plan custom, with a monthly quota.
func (a *twoNodes) issue(scopes string, month int) issuedToken {
	a.Helper()
	return a.make("issue", "--name", "ACME", "--plan", "custom", "--scopes", scopes,
		"--limits", fmt.Sprintf("%d,60000,10000,60000,10000", month))
}

// statusOf sends a GET request with a token.
func (i *instance) statusOf(path, token string) (status int, body string) {
	i.TB.Helper()
	request := env.Must(http.NewRequest(http.MethodGet, i.URL+path, http.NoBody))(i.TB)
	if token != "" {
		request.Header.Set(access.HeaderToken, token)
	}
	response, err := env.Client.Do(request)
	if err != nil {
		i.TB.Errorf("GET %s: %v", path, err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		i.TB.Errorf("GET %s: %v", path, err)
	}
	return response.StatusCode, string(text)
}

// wantSoon waits until both nodes answer a token with this status, and logs how long it took.
func (a *twoNodes) wantSoon(token string, want int) {
	a.Helper()
	began := time.Now()
	env.Until(a, func() error {
		for _, node := range []*instance{a.first, a.second} {
			if status, body := node.statusOf(a.paid, token); status != want {
				return fmt.Errorf("%s: got %d %s, want %d", node.URL, status, body, want)
			}
		}
		return nil
	})
	a.Logf("%d on both nodes after %s", want, time.Since(began))
}

// wantNow checks that both nodes accept a token the first time, but for 503 of a busy machine.
func (a *twoNodes) wantNow(token string) {
	a.Helper()
	for _, node := range []*instance{a.first, a.second} {
		env.Until(a, func() error {
			status, body := node.statusOf(a.paid, token)
			if status == http.StatusUnauthorized {
				a.Fatalf("%s: got %d %s, want the token to be known at once", node.URL, status, body)
			}
			if status != http.StatusOK {
				return fmt.Errorf("%s: got %d %s", node.URL, status, body)
			}
			return nil
		})
	}
}

// usage is the answer about the usage of a token.
type usage struct {
	Month struct{ Used, Remaining string }
	Days  []struct{ RouteID, Requests, OK, Refused, Charged string }
}

func usageOf(node *instance, token string) (u usage, err error) {
	status, body := node.statusOf("/v2/meta/usage", token)
	answer := struct{ Data *usage }{&u}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		return u, fmt.Errorf("usage: %d %w %s", status, err, body)
	}
	return u, nil
}

func TestTokens(t *testing.T) { //nolint:tparallel // the subtests change one state in turn
	t.Parallel()
	nodes := startTwoNodes(t, "PNYX_LOG_LEVEL=debug", "PNYX_LOG_FORMAT=json")
	for _, claim := range []struct {
		name  string
		check func(*testing.T, *twoNodes)
	}{
		{"a token works from its issue to its revocation", checkTokenLife},
		{"the quota of a month is exact and survives a flush of Redis", checkMonth},
		{"no output shows a secret", checkSecrets}, // it stops a node
	} {
		t.Run(claim.name, func(t *testing.T) {
			own := *nodes
			own.T = t
			claim.check(t, &own)
		})
	}
}

func checkTokenLife(t *testing.T, a *twoNodes) {
	t.Helper()
	kept := a.issue("v2:paid:plus", 1000)
	a.wantNow(kept.Token)
	gone, flushed := a.issue("v2:paid:*", 1000), a.issue("v2:paid:*", 1000)
	for _, m := range []issuedToken{gone, flushed} {
		a.wantNow(m.Token)
	}
	small := a.issue("v1:paid:*,v2:paid:standard", 1000)
	a.wantSoon(small.Token, http.StatusForbidden)
	a.wantSoon("", http.StatusPaymentRequired)
	a.wantSoon("nonsense", http.StatusUnauthorized)

	launched := start(a, t.TempDir(), append(a.environ, "PNYX_V2_LAUNCHED_AT="+time.Now().UTC().Format(time.RFC3339Nano)), "api").ready()
	if status, body := launched.statusOf(a.paid, small.Token); status != http.StatusOK {
		t.Errorf("a token of v1 after the launch of v2: got %d %s, want 200", status, body)
	}

	a.pnyx("token", "revoke", gone.ID)
	a.wantSoon(gone.Token, http.StatusUnauthorized)
	a.pnyx("token", "revoke", flushed.ID)
	env.FlushRedis(t, a.redis)
	a.wantSoon(flushed.Token, http.StatusUnauthorized)
	// The views that it reads must be published again first.
	a.wantSoon(kept.Token, http.StatusOK)
	if out, status := env.Run(t, a.first.Environ, "token", "rotate", gone.ID); status == 0 {
		t.Errorf("rotate of a revoked token: got success, want an error: %s", out)
	}

	rotated := a.make("rotate", kept.ID, "--overlap", "1h")
	a.wantNow(rotated.Token)
	a.wantNow(kept.Token)
	last := a.make("rotate", kept.ID, "--overlap", "0")
	a.wantNow(last.Token)
	a.wantSoon(rotated.Token, http.StatusUnauthorized)
	a.wantSoon(kept.Token, http.StatusUnauthorized)

	list := a.pnyx("token", "list", "--json") + a.pnyx("token", "list") + a.pnyx("token", "show", kept.ID)
	for _, id := range []string{kept.ID, gone.ID} {
		env.WantPart(t, id, list, "is not listed")
	}
	if strings.Count(list, `"state":"revoked"`) != 2 {
		t.Errorf("got %s, want two revoked", list)
	}
	a.wantNoSecrets(list)
}

func checkMonth(t *testing.T, a *twoNodes) {
	t.Helper()
	m := a.issue("v2:paid:*", 120)
	a.wantSoon(m.Token, http.StatusOK) // two requests, or more while waiting
	u := env.Must(usageOf(a.first, m.Token))(t)
	charged := u.Month.Used
	env.Until(t, func() error { // until the usage is in the journal
		u, err := usageOf(a.second, m.Token)
		if err == nil && (len(u.Days) == 0 || u.Days[0].Charged != charged || u.Days[0].RouteID != "daos.timeline") {
			err = fmt.Errorf("got %+v, want %s charged", u, charged)
		}
		return err
	})
	days := a.first.Column("SELECT toString(max(day)) FROM usage_by_day WHERE token_id = ?", m.ID)
	for _, out := range []string{a.pnyx("token", "show", m.ID), a.pnyx("token", "list", "--json")} {
		env.WantPart(t, `"lastUsedOn":"`+days[0]+`"`, out)
	}
	if out := a.pnyx("token", "list"); !regexp.MustCompile(m.ID + ` .* ` + days[0] + ` `).MatchString(out) {
		t.Errorf("got %s, want the last use of %s on %s", out, m.ID, days[0])
	}
	env.WantPart(t, `"lastUsedOn":null`, a.pnyx("token", "show", a.issue("v2:paid:*", 1).ID), "no use")
	env.FlushRedis(t, a.redis)
	env.Until(t, func() error {
		u, err := usageOf(a.second, m.Token)
		if err == nil && (u.Month.Used != charged || len(u.Days) == 0) {
			err = fmt.Errorf("after a flush: got %+v, want %s used", u, charged)
		}
		return err
	})
	// The views must be published again, too: a 503 is not counted, and takes from the rate.
	env.Until(t, func() error {
		if keys, err := a.redis.Keys(t.Context(), "*{worker}:publication").Result(); len(keys) != 1 {
			return fmt.Errorf("publications: got %v %w, want one", keys, err)
		}
		return nil
	})
	var allowed, refused atomic.Int64
	env.Concurrently(t, 50, 200, func(n int) error {
		node := []*instance{a.first, a.second}[n%2]
		for {
			switch status, body := node.statusOf(a.paid, m.Token); status {
			case http.StatusOK:
				allowed.Add(1)
				return nil
			case http.StatusTooManyRequests:
				refused.Add(1)
				return nil
			case http.StatusServiceUnavailable:
			default:
				return fmt.Errorf("got %d %s", status, body)
			}
		}
	})
	if got := fmt.Sprint(120 - allowed.Load()); got != charged {
		t.Errorf("got %d answers after %s, want 120 in all", allowed.Load(), charged)
	}
	env.Until(t, func() error {
		rows := a.first.Column("SELECT concat(toString(charged), ' ', toString(refused)) FROM usage_by_day WHERE token_id = ? AND route = 'daos.timeline'", m.ID)
		if want := fmt.Sprintf("120 %d", refused.Load()); len(rows) != 1 || rows[0] != want {
			return fmt.Errorf("for billing: got %v, want %s", rows, want)
		}
		return nil
	})
}

func checkSecrets(t *testing.T, a *twoNodes) {
	t.Helper()
	m := a.issue("v2:paid:*", 1000)
	a.wantSoon(m.Token, http.StatusOK)
	shown := regexp.MustCompile(`(?m)^  \w+ +(pnyx_\S+)$`).FindAllStringSubmatch(a.first.Output.String(), -1)
	if len(shown) != 3 {
		t.Fatalf("got %d tokens from the demonstration, want 3, in %s", len(shown), a.first.Output)
	}
	var all strings.Builder
	for _, path := range []string{a.paid, "/v2/daos", "/nowhere", "/v2/meta/usage", a.paid + "&x=1"} {
		for _, token := range []string{m.Token, m.Token + "x", access.GenerateToken(m.ID), shown[0][1]} {
			_, body := a.second.statusOf(path, token)
			all.WriteString(body)
		}
		_, body, _ := env.Fetch(a.second.URL + path)
		all.Write(body)
	}
	for _, node := range []*instance{a.first, a.second} {
		_, metrics, err := env.Fetch(node.AdminURL + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		all.Write(metrics)
	}
	keys, err := a.redis.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("got %v, %v, want keys", keys, err)
	}
	all.WriteString(strings.Join(keys, "\n"))
	a.second.Stop()
	all.WriteString(a.second.Output.String())
	all.WriteString(a.pnyx("token", "list"))
	all.WriteString(a.pnyx("config"))
	said := a.first.Output.String()
	for _, match := range shown {
		said = strings.ReplaceAll(said, match[1], "") // the demonstration prints it on purpose
		a.secrets = append(a.secrets, match[1])
	}
	a.wantNoSecrets(all.String() + said)
}

// wantNoSecrets checks that a text holds no token and no hash of one, in any encoding.
func (a *twoNodes) wantNoSecrets(text string) {
	a.Helper()
	for _, secret := range append(a.secrets, env.InternalToken) {
		hash := sha256.Sum256([]byte(secret))
		inside := secret[max(0, len(secret)-40):]
		for name, form := range map[string]string{
			"a token": inside, "its hash": hex.EncodeToString(hash[:]), "its hash in base 64": base64.RawStdEncoding.EncodeToString(hash[:]),
			"its hash for URLs": base64.RawURLEncoding.EncodeToString(hash[:]), "its hash, raw": string(hash[:]),
		} {
			if at := strings.Index(text, form); at >= 0 {
				a.Errorf("output contains the secret %s: %s", name, text[max(0, at-100):min(len(text), at+100)])
			}
		}
	}
}
