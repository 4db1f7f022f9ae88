package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
)

// Each answer that differs after an upgrade is in the log of changes, and no webhook tells of the past.
func TestUpgradeTellsWhatChanged(t *testing.T) {
	if os.Getenv("PNYX_TEST_UPGRADE_FROM") == "" {
		t.Skip("PNYX_TEST_UPGRADE_FROM is not set: run make test-upgrade")
	}
	data, earlier, dir, mail := env.RealData(t), env.EarlierProgram(t), t.TempDir(), newMailbox(t)
	environ := []string{"REDIS_URL=" + env.Redis(t).URL, "PNYX_FREE_RATE=0", "PNYX_WEBHOOK_RECEIVERS=private"}
	i := &instance{env.StartProgram(t, earlier, dir, environ, "serve")}
	run := func(args ...string) string {
		out, status := env.RunProgram(t, earlier, i.Environ, args...)
		if status != 0 {
			t.Fatalf("pnyx %v of the earlier version: %d %s", args, status, out)
		}
		return out
	}
	i.ready()
	var issued issuedToken
	env.Decode(t, []byte(run("token", "issue", "--json", "--name", "ACME", "--plan", "developer", "--scopes", "v2:paid:standard")), &issued)
	run("webhook", "add", "--token-id", issued.ID, "--url", mail.url, "--types", "*")
	run("import", data)
	i.AwaitPublished()
	i.AwaitFeed()
	before := i.answersByKey(nil)
	i.Stop()
	stopped, told := time.Now().UTC(), len(mail.got())

	env.MustRun(t, i.Environ, "migrate")
	i = start(t, dir, environ, "serve").ready()
	i.AwaitPublished()
	i.AwaitFeed()
	changed := map[string]bool{}
	for path, more := "/v2/changes?limit=500&from="+stopped.Format(time.RFC3339), true; more; {
		var rows []governance.Change
		r := env.Must(i.Read(path, &rows))(t)
		for _, row := range rows {
			changed[string(row.Kind)+" "+row.Key] = true
		}
		more, path = r.Meta.Page.HasMore, "/v2/changes?limit=500&cursor="+url.QueryEscape(*r.Meta.Page.NextCursor)
	}
	after, differ := i.answersByKey(before), 0
	for key := range before {
		diff := env.DiffJSON(before[key], after[key])
		if diff == "" {
			continue
		}
		if differ++; !changed[key] {
			t.Errorf("%s is not in the log of changes (-earlier version +this version):\n%s", key, diff)
		}
	}
	t.Logf("%d of %d answers differ, %d changes", differ, len(before), len(changed))

	// What is sent in order has come when this has.
	i.ImportLines(goodSpace)
	i.ImportLines(recentVote("0xlast", "Last"))
	env.Until(t, func() error {
		for _, p := range mail.got()[told:] {
			if idOf(t, p.Body.Data, "proposalKey") == proposalKey("a.eth", "0xlast") {
				return nil
			}
		}
		return fmt.Errorf("got %d messages, want one of the last proposal", len(mail.got()))
	})
	for _, p := range mail.got()[told:] {
		if key := idOf(t, p.Body.Data, "proposalKey"); key != proposalKey("a.eth", "0xlast") {
			t.Errorf("a webhook tells of the past: %s", p.Text)
		}
	}
}

// answersByKey returns what is answered about everything, without what an earlier version did not send.
func (i *instance) answersByKey(earlier map[string]any) map[string]any {
	i.TB.Helper()
	answers := map[string]any{}
	for kind, list := range map[governance.ChangeKind][2]string{
		governance.DAOChange: {"/v2/daos", "daoId"}, governance.ProposalChange: {"/v2/proposals", "proposalKey"},
		governance.TopicChange: {"/v2/forum-topics", "topicKey"},
	} {
		for _, id := range i.ids(list[0], list[1]) {
			paths := []string{list[0] + "/" + id}
			if kind == governance.ProposalChange {
				paths = append(paths, paths[0]+"/votes/summary")
			}
			var parts []any
			for _, path := range paths {
				var data json.RawMessage
				i.Get(path, &data)
				parts = append(parts, env.Plain(data))
			}
			key := string(kind) + " " + id
			answers[key] = env.WithoutAdditions(earlier[key], any(parts))
		}
	}
	return answers
}
