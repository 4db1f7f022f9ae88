package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// upgradeFixture is a warehouse, a Redis and recorded answers of an earlier version (ca11a6f). Its tokens and payment are
// invented, and its proposals end in June 2026, so that no answer depends on the day of the test. In a later month than the
// fixture's, the test wants the new month's quota unused, and the recorded usage in usage_by_day.
//
// PNYX_TEST_UPGRADE_RECORD=1 with PNYX_TEST_BINARY, the program of another version, and -run TestRecordUpgradeFixture makes it
// anew. After a change of answers PNYX_TEST_UPGRADE_CHANGED=1 and -run TestUpgradeKeepsAnswers logs each answer that differs and
// writes changed.json.gz: read them before it is committed.
const upgradeFixture = "testdata/upgrade"

// The files of the fixture.
const (
	fixtureWarehouse = "warehouse.tar.gz" // the data folder of the embedded ClickHouse
	fixtureRedis     = "dump.rdb.gz"      // as SAVE wrote it after the process had ended
	fixtureRecord    = "record.json.gz"   // answers to 453 requests, what tokens may do and have used, the hash of the payment
	fixtureChanged   = "changed.json.gz"  // answers of this version that differ on purpose
)

// recordedUpgrade holds the answers of the earlier version.
type recordedUpgrade struct {
	// Version is the output of `pnyx version`.
	Version string
	// Month is the month in which quotas were used, as 2006-01.
	Month string
	// Tokens are the tokens that were issued, by name.
	Tokens map[string]recordedToken
	// Answers are the data of each answer, by path.
	Answers map[string]json.RawMessage
	// Payment is the transaction hash of the settled payment.
	Payment string
	// Usage are the rows of the view usage_by_day.
	Usage []map[string]string
}

// recordedToken is a token with its recorded status and usage.
type recordedToken struct {
	ID, Token string
	// Status is the answer to a request for paidPath.
	Status int
	// Used is the used part of the month's quota.
	Used string
}

// The warehouse and the Redis of an earlier version are migrated and served by every role: answers, tokens, quotas
// and payments are the earlier version's.
func TestLongUpgradeKeepsAnswersTokensAndQuotas(t *testing.T) { //nolint:tparallel // usage is read before it grows
	t.Parallel()
	env.RequireEngine(t)
	var want recordedUpgrade
	readFixture(t, fixtureRecord, &want)
	dataDir, redisDir := t.TempDir(), t.TempDir()
	runTool(t, "tar", "-xzf", filepath.Join(upgradeFixture, fixtureWarehouse), "-C", dataDir)
	unzipFile(t, filepath.Join(upgradeFixture, fixtureRedis), filepath.Join(redisDir, "dump.rdb"))
	redis := env.RestoredRedis(t, redisDir)
	environ := []string{"REDIS_URL=" + redis.URL, "PNYX_FREE_RATE=0"}

	env.MustRun(t, append([]string{"PNYX_DATA=" + dataDir}, environ...), "migrate")
	first := start(t, dataDir, environ, "serve").ready()
	first.AwaitPublished()
	first.AwaitFeed()
	environ = append(environ, "CLICKHOUSE_URL="+env.EmbeddedURL(t, dataDir))
	start(t, t.TempDir(), environ, "worker").AwaitProbe("/healthz", http.StatusOK, "ok")
	node := start(t, t.TempDir(), environ[:2], "api").ready()

	if os.Getenv("PNYX_TEST_UPGRADE_CHANGED") != "" {
		want.renewChanged(t, node)
		return
	}
	want.checkAnswers(t, node)
	for _, name := range sortedKeys(want.Tokens) {
		t.Run("token "+name, func(t *testing.T) { want.checkToken(t, first, node, want.Tokens[name]) })
	}
	t.Run("payments", func(t *testing.T) {
		env.WantPart(t, want.Payment, env.MustRun(t, first.Environ, "payments", "list", "--state", "settled"), "the transaction")
	})
}

// checkAnswers waits until a node answers as the earlier version did, but for answers that differ on purpose.
func (u recordedUpgrade) checkAnswers(t *testing.T, node *instance) {
	t.Helper()
	wanted := maps.Clone(u.Answers)
	changed := map[string]json.RawMessage{}
	readFixture(t, fixtureChanged, &changed)
	maps.Copy(wanted, changed)
	for _, path := range sortedKeys(wanted) {
		env.Until(t, func() error {
			got, err := u.answer(node, path)
			if err != nil {
				return err
			}
			if diff := env.DiffJSON(wanted[path], got); diff != "" {
				return fmt.Errorf("GET %s (-wanted after the earlier version +this version):\n%s", path, diff)
			}
			return nil
		})
	}
}

// answer returns an answer without what the earlier version did not send; an error for a pending dossier.
func (u recordedUpgrade) answer(node *instance, path string) (any, error) {
	var got json.RawMessage
	if _, err := node.Read(path, &got); err != nil {
		return nil, err
	}
	var evidence struct{ Intelligence struct{ Status string } }
	if err := json.Unmarshal(got, &evidence); err == nil && evidence.Intelligence.Status == string(governance.IntelligencePending) {
		return nil, fmt.Errorf("GET %s: the dossier is pending", path)
	}
	return env.WithoutAdditions(env.Plain(u.Answers[path]), env.Plain(got)), nil
}

// renewChanged writes the answers that differ from the earlier version's, and logs how.
func (u recordedUpgrade) renewChanged(t *testing.T, node *instance) {
	t.Helper()
	changed := map[string]any{}
	for _, path := range sortedKeys(u.Answers) {
		env.Until(t, func() error {
			got, err := u.answer(node, path)
			if diff := env.DiffJSON(u.Answers[path], got); err == nil && diff != "" {
				changed[path] = got
				t.Logf("GET %s (-earlier version +this version):\n%s", path, diff)
			}
			return err
		})
	}
	t.Logf("%d of %d answers differ", len(changed), len(u.Answers))
	zipFixture(t, fixtureChanged, changed)
}

// checkToken compares what a token opens and has used with what the earlier version recorded.
func (u recordedUpgrade) checkToken(t *testing.T, first, node *instance, token recordedToken) {
	t.Helper()
	if token.Status != http.StatusUnauthorized {
		var used usage
		env.Until(t, func() (err error) {
			used, err = usageOf(node, token.Token)
			return err
		})
		// A quota is per month, and the fixture is usually from an earlier month.
		wantUsed := "0"
		if time.Now().UTC().Format("2006-01") == u.Month {
			wantUsed = token.Used
		}
		env.Want(t, wantUsed, used.Month.Used, "used of the month")
	}
	if token.Used != "0" {
		want := slices.DeleteFunc(slices.Clone(u.Usage), func(row map[string]string) bool { return row["token_id"] != token.ID })
		if diff := env.DiffJSON(want, first.Rows(usageRows(token.ID))); diff != "" {
			t.Errorf("usage by day (-earlier version +this version):\n%s", diff)
		}
	}
	if status, body := node.statusOf(firstPaidPath(first), token.Token); status != token.Status {
		t.Errorf("got %d %s, want %d", status, body, token.Status)
	}
}

// usageRows is a query for the usage charged to a token, by day and route.
func usageRows(token string) string {
	return "SELECT token_id, toString(day) AS on_day, route, toString(sum(charged)) AS requests FROM usage_by_day" +
		" WHERE token_id = '" + token + "' GROUP BY token_id, day, route HAVING sum(charged) > 0 ORDER BY day, route"
}

// firstPaidPath is a paid path that every fixture has.
func firstPaidPath(i *instance) string {
	var daos []struct{ DAOID string }
	i.Get("/v2/daos?limit=1", &daos)
	return "/v2/daos/" + daos[0].DAOID + "/timeline?metric=votes_cast"
}

// TestRecordUpgradeFixture makes the fixture with PNYX_TEST_BINARY, for PNYX_TEST_UPGRADE_RECORD.
func TestRecordUpgradeFixture(t *testing.T) {
	if os.Getenv("PNYX_TEST_UPGRADE_RECORD") == "" {
		t.Skip("PNYX_TEST_UPGRADE_RECORD is not set: see upgradeFixture")
	}
	env.RequireEngine(t)
	redisDir, dataDir, ledger := t.TempDir(), t.TempDir(), facilitator.NewLedger(t)
	redis := env.RestoredRedis(t, redisDir)
	i := start(t, dataDir, append(ledger.Environ(), "REDIS_URL="+redis.URL, "PNYX_FREE_RATE=0"), "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "6", "--proposals", "40",
		"--ballots", "900", "--largest", "200"))
	i.ImportLines(`{"record":"evidence","version":1,"proposal":{"provider":"snapshot","externalId":"0xp"},"artifactVersion":"1",` +
		`"generatedAt":"2026-03-02","dossier":{"total":1234567890.123456789012345678},"sourceRefs":[{"page":1.50}],"warnings":["One."]}`)
	i.ImportLines(goodSpace)
	i.ImportLines(goodProposal)
	i.ImportLines(goodVote)
	i.AwaitPublished()
	i.AwaitFeed()

	record := recordedUpgrade{
		Version: env.MustRun(t, nil, "version"), Month: time.Now().UTC().Format("2006-01"),
		Tokens: map[string]recordedToken{}, Answers: map[string]json.RawMessage{},
	}
	record.Payment = payOnce(t, i, ledger)
	record.issueTokens(t, i)
	for _, path := range i.everyPath() {
		var data json.RawMessage
		env.Until(t, func() error {
			_, err := i.Read(path, &data)
			return err
		})
		record.Answers[path] = data
	}
	t.Logf("%d answers", len(record.Answers))
	i.Stop()
	env.MustDo(t, env.RedisClient(t, redis.URL).Save(context.Background()).Err())
	writeFixture(t, record, dataDir, filepath.Join(redisDir, "dump.rdb"))
}

// payOnce pays for a request and returns the hash of the transaction.
func payOnce(t *testing.T, i *instance, ledger *facilitator.Ledger) string {
	t.Helper()
	s := &paidService{instance: i, ledger: ledger, wallet: facilitator.NewWallet(t), path: firstPaidPath(i)}
	s.wantAnsweredOnce(s.sign())
	s.wantLedger()
	return ledger.Transfers()[0].Hash
}

// issueTokens issues tokens of several kinds, uses them, and waits until the usage is stored.
func (u *recordedUpgrade) issueTokens(t *testing.T, i *instance) {
	t.Helper()
	path := firstPaidPath(i)
	for name, scopes := range map[string]string{"partner": "v2:paid:*", "narrow": "v2:paid:plus", "first version": "v1:paid:*", "revoked": "v2:paid:*"} {
		m := issueToken(t, i.Environ, "--name", name, "--plan", "custom", "--scopes", scopes,
			"--limits", "1000,60000,10000,60000,10000")
		token := recordedToken{ID: m.ID, Token: m.Token, Used: "0"}
		env.Until(t, func() error {
			if token.Status, _ = i.statusOf(path, m.Token); token.Status == http.StatusUnauthorized {
				return fmt.Errorf("the token %s is not known yet", name)
			}
			return nil
		})
		for range 3 {
			i.statusOf(path, m.Token)
		}
		used := env.Must(usageOf(i, m.Token))(t)
		token.Used = used.Month.Used
		env.Until(t, func() error {
			charged := "0"
			if rows := i.Column("SELECT toString(sum(charged)) FROM usage_by_day WHERE token_id = ?", m.ID); len(rows) == 1 {
				charged = rows[0]
			}
			if charged != token.Used {
				return fmt.Errorf("charged to %s: got %s, want %s", name, charged, token.Used)
			}
			return nil
		})
		if name == "revoked" {
			env.MustRun(t, i.Environ, "token", "revoke", m.ID)
			token.Status = http.StatusUnauthorized
		}
		u.Tokens[name] = token
		if token.Used != "0" {
			u.Usage = append(u.Usage, i.Rows(usageRows(token.ID))...)
		}
	}
}

// everyPath are paths of every route, for every DAO, proposal and topic.
func (i *instance) everyPath() []string {
	i.TB.Helper()
	all := i.everything()
	paths := slices.Clone(all.views)
	for _, list := range all.lists {
		mark := "?"
		if strings.Contains(list, "?") {
			mark = "&"
		}
		paths = append(paths, list+mark+"limit=50")
	}
	for _, proposal := range i.ids("/v2/proposals", "proposalKey") {
		for _, order := range []string{"power", "time"} {
			paths = append(paths, "/v2/proposals/"+proposal+"/votes?limit=20&order="+order)
		}
	}
	for _, voter := range i.BusiestVoters(10) {
		paths = append(paths, "/v2/voters/"+url.PathEscape(voter)+"/votes?limit=50")
	}
	return append(paths, "/v2/meta/data-status")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func readFixture(t *testing.T, name string, value any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	unzipFile(t, filepath.Join(upgradeFixture, name), path)
	text := env.ReadFile(t, path)
	env.Decode(t, text, value)
}

func unzipFile(t *testing.T, from, to string) {
	t.Helper()
	runTool(t, "sh", "-c", "gzip -dc "+from+" > "+to)
}

func writeFixture(t *testing.T, record recordedUpgrade, dataDir, dump string) {
	t.Helper()
	env.MustDo(t, os.MkdirAll(upgradeFixture, 0o750))
	zipFixture(t, fixtureRecord, record)
	runTool(t, "sh", "-c", "gzip -9nc "+dump+" > "+filepath.Join(upgradeFixture, fixtureRedis))
	runTool(t, "tar", "-czf", filepath.Join(upgradeFixture, fixtureWarehouse), "-C", dataDir, ".")
}

// zipFixture writes a value as a file of the fixture.
func zipFixture(t *testing.T, name string, value any) {
	t.Helper()
	text := env.Must(json.Marshal(value))(t)
	plain := filepath.Join(upgradeFixture, strings.TrimSuffix(name, ".gz"))
	env.MustDo(t, os.WriteFile(plain, text, 0o600))
	runTool(t, "gzip", "-9fn", plain)
}

func runTool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
