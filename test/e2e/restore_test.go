package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// TestLongLostMachineIsRestored loses the data folder and Redis after a full and an incremental
// backup and a further import: every answer, token, usage and payment is as it was at the last
// backup, and the import brings back what came after it.
func TestLongLostMachineIsRestored(t *testing.T) { //nolint:tparallel // usage is read before it grows
	env.Long(t)
	t.Parallel()
	env.RequireEngine(t)
	ledger, terms := facilitator.NewLedger(t), facilitator.Terms(nil)
	environ := []string{
		"PNYX_FREE_RATE=0", "PNYX_PUBLIC_URL=https://api.example.org",
		"X402_PAY_TO=" + terms.PayTo, "X402_FACILITATOR_URL=" + ledger.Facilitator, "X402_RPC_URL=" + ledger.RPC,
		"X402_NETWORK=" + terms.Token.Network, "X402_ASSET=" + terms.Token.Asset, "X402_ASSET_NAME=" + terms.Token.Name,
	}
	lost, backups := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	i := start(t, lost, environ, "serve").ready()
	i.Import(env.GeneratedDataSet(t, "--now", "2026-06-01T00:00:00Z", "--daos", "6", "--proposals", "40", "--ballots", "900", "--largest", "200"))
	env.MustRun(t, i.Environ, "backup", backups)
	i.ImportLines(goodSpace)
	i.ImportLines(goodProposal)
	want := recordedUpgrade{Month: time.Now().UTC().Format("2006-01"), Tokens: map[string]recordedToken{}}
	want.Payment = payOnce(t, i, ledger)
	want.issueTokens(t, i)
	i.AwaitPublished()
	i.AwaitFeed()
	want.Answers = i.recordAnswers()
	if out := env.MustRun(t, i.Environ, "backup", backups, "--keep", "1"); !strings.Contains(out, "incremental") {
		t.Errorf("got %s, want an incremental backup", out)
	}
	wantNoSecrets(t, backups, want)
	i.ImportLines(goodVote)
	i.AwaitPublished()
	later := i.recordAnswers()
	i.Stop()
	if err := os.RemoveAll(lost); err != nil {
		t.Fatal(err)
	}

	found := filepath.Join(t.TempDir(), "data")
	setting := []string{"PNYX_DATA=" + found}
	t.Log(env.MustRun(t, setting, "backup", "list", backups))
	t.Log(env.MustRun(t, setting, "restore", backups))
	if out, status := env.Run(t, setting, "restore", backups); status != 1 || !strings.Contains(out, "is not empty") {
		t.Errorf("a second time: got %d %s, want 1 and that the warehouse is not empty", status, out)
	}
	r := start(t, found, environ, "serve").ready()
	if out, status := env.Run(t, r.Environ, "restore", backups); status != 1 || !strings.Contains(out, "locked by process") {
		t.Errorf("while it runs: got %d %s, want 1 and the process", status, out)
	}
	r.AwaitPublished()
	r.AwaitFeed()
	r.compareAnswers(want.Answers)
	for _, name := range sortedKeys(want.Tokens) {
		t.Run("token "+name, func(t *testing.T) { want.checkToken(t, r, r, want.Tokens[name]) })
	}
	if out := env.MustRun(t, r.Environ, "payments", "list", "--state", "settled"); !strings.Contains(out, want.Payment) {
		t.Errorf("got %s, want the transaction %s", out, want.Payment)
	}
	r.ImportLines(goodVote)
	r.AwaitPublished()
	for path := range later {
		// These state when the record was imported.
		if strings.HasSuffix(path, "/evidence") || strings.HasPrefix(path, "/v2/meta/") ||
			strings.HasPrefix(path, "/v2/events") || strings.HasPrefix(path, "/v2/signals") {
			delete(later, path)
		}
	}
	r.compareAnswers(later)
}

// recordAnswers reads every path.
func (i *instance) recordAnswers() map[string]json.RawMessage {
	i.TB.Helper()
	answers := map[string]json.RawMessage{}
	for _, path := range i.everyPath() {
		env.Until(i.TB, func() error {
			var data json.RawMessage
			_, err := i.Read(path, &data)
			answers[path] = data
			return err
		})
	}
	return answers
}

// compareAnswers waits until every path is answered as wanted.
func (i *instance) compareAnswers(want map[string]json.RawMessage) {
	i.TB.Helper()
	for _, path := range sortedKeys(want) {
		env.Until(i.TB, func() error {
			var got json.RawMessage
			if _, err := i.Read(path, &got); err != nil {
				return err
			}
			if diff := env.DiffJSON(want[path], got); diff != "" {
				return fmt.Errorf("GET %s (-before +after):\n%s", path, diff)
			}
			return nil
		})
	}
}

// wantNoSecrets looks for tokens in all files of the backups.
func wantNoSecrets(t *testing.T, dir string, record recordedUpgrade) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for name, token := range record.Tokens {
			if strings.Contains(string(text), token.Token) {
				t.Errorf("%s contains the token %s", path, name)
			}
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("got %d files (%v), want the files of the backups", files, err)
	}
}
