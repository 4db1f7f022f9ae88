package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// lossCase says what is lost.
type lossCase struct{ warehouse, redis bool }

// The warehouse, Redis, or both are lost after a backup and what came since. The commands of docs/production.md
// are run in their order, and what is left compared with what the document says.
func TestLongEverythingIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]lossCase{
		"Redis is lost, too": {warehouse: true, redis: true}, "Redis outlives the warehouse": {warehouse: true},
		"the warehouse outlives Redis": {redis: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := beginLoss(t)
			l.lossCase = c
			l.before()
			env.MustRun(t, l.Environ, "backup", filepath.Join(l.dir, "backups"))
			wantNoSecrets(t, filepath.Join(l.dir, "backups"), l.early, l.revoked, l.rotated)
			l.since()
			revision := l.revision()
			l.lose()
			missing := l.recover()
			if got := l.revision(); got <= revision {
				t.Errorf("got revision %d, want one after %d", got, revision)
			}
			l.checkLedger(missing)
			l.checkTokens()
			l.checkPayments()
			l.checkAnswers()
			l.checkWebhooks()
		})
	}
}

// loss is a service that loses its warehouse, its Redis, or both.
type loss struct {
	*paidService
	lossCase

	redis *env.RedisServer
	// dir is the folder that the commands of the document run in; data is the warehouse's in it.
	dir, data string
	// early is a token of before the backup. Since then, revoked was revoked, rotated became renewed, and late was
	// issued.
	early, revoked, rotated, renewed, late issuedToken
	// known is a payment of before the backup, and unknown one since.
	known, unknown string
	// used is the quota that early has used, at the backup and at the loss.
	used [2]string
	// answers are those at the loss, changes is a cursor, next one of a list, and export is of all ballots.
	answers       map[string]json.RawMessage
	changes, next string
	rows          []json.RawMessage
	export        []byte
	// kept receives for a webhook, gone for one that is removed since. sent are the messages since the backup.
	kept, gone *mailbox
	until      int
	sent       []string
}

func beginLoss(t *testing.T) *loss {
	t.Helper()
	env.RequireEngine(t)
	ledger, dir := facilitator.NewLedger(t), t.TempDir()
	l := &loss{redis: env.Redis(t), dir: dir, data: filepath.Join(dir, "data"), kept: newMailbox(t), gone: newMailbox(t)}
	env.MustDo(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	program, err := filepath.Abs(env.Binary(t))
	env.MustDo(t, errors.Join(err, os.Symlink(program, filepath.Join(dir, "bin", "pnyx"))))
	settings := append(ledger.Environ(), "REDIS_URL="+l.redis.URL, "PNYX_FREE_RATE=0", "PNYX_WEBHOOK_RECEIVERS=private")
	l.paidService = &paidService{
		instance: start(t, l.data, settings, "serve").ready(), ledger: ledger, wallet: facilitator.NewWallet(t), settings: settings,
	}
	return l
}

// before is what the backup has.
func (l *loss) before() {
	l.TB.Helper()
	l.ImportLines(goodSpace)
	l.ImportLines(goodProposal)
	l.AwaitPublished()
	l.path = firstPaidPath(l.instance)
	l.early, l.revoked, l.rotated = l.issue("early"), l.issue("revoked"), l.issue("rotated")
	for _, in := range []*mailbox{l.kept, l.gone} {
		env.MustRun(l.TB, l.Environ, "webhook", "add", "--token-id", l.early.ID, "--url", in.url, "--types", "*")
	}
	l.spend(3)
	l.known = l.buy()
}

// since is what it does not have.
func (l *loss) since() {
	l.TB.Helper()
	l.used[0] = l.usedOf(l.early)
	l.late = l.issue("late")
	revocations := env.MustRun(l.TB, l.Environ, "token", "revoke", l.revoked.ID)
	l.renewed = l.rotate()
	l.awaitStatus(l.rotated, http.StatusUnauthorized)
	l.awaitStatus(l.renewed, http.StatusOK)
	l.spend(2)
	l.used[1] = l.usedOf(l.early)
	l.unknown = l.buy()
	env.WriteLines(l.TB, filepath.Join(l.dir, "since", "1-proposals.ndjson"), recentVote("recent", "Recent"))
	env.WriteLines(l.TB, filepath.Join(l.dir, "since", "2-ballots.ndjson"),
		goodVote, recentBallot("recent", 1, 1, "10.000000000000000001"), recentBallot("recent", 2, 2, "0.1"))
	env.MustRun(l.TB, l.Environ, "import", filepath.Join(l.dir, "since"))
	l.AwaitPublished()
	l.AwaitFeed()
	l.awaitMessages()
	revocations += env.MustRun(l.TB, l.Environ, "webhook", "remove", l.idOfWebhook(l.gone))
	env.WriteLines(l.TB, filepath.Join(l.dir, "revocations"), revocations)
	l.recordReads()
}

// awaitMessages waits until both receivers have a message for each event.
func (l *loss) awaitMessages() {
	l.TB.Helper()
	env.Until(l.TB, func() error {
		var events []struct{ EventID, ProposalKey string }
		if _, err := l.Read("/v2/events?"+thisWeek(), &events); err != nil {
			return err
		}
		l.sent = nil
		for _, event := range events {
			if event.ProposalKey == proposalKey("a.eth", "recent") {
				l.sent = append(l.sent, event.EventID)
			}
		}
		if len(l.sent) < 3 {
			return fmt.Errorf("got the events %+v, want the events of a vote", events)
		}
		return errors.Join(l.kept.has(l.sent, 1), l.gone.has(l.sent, 1))
	})
}

// has reports which messages have not come so many times.
func (m *mailbox) has(ids []string, times int) error {
	came := map[string]int{}
	for _, p := range m.got() {
		came[p.ID]++
	}
	for _, id := range ids {
		if came[id] < times {
			return fmt.Errorf("message %s came %d times, want %d", id, came[id], times)
		}
	}
	return nil
}

// idOfWebhook finds a webhook by the address of its receiver.
func (l *loss) idOfWebhook(in *mailbox) string {
	l.TB.Helper()
	ids := l.Column("SELECT DISTINCT endpoint_id FROM webhook_endpoints WHERE url = ?", in.url)
	if len(ids) != 1 {
		l.TB.Fatalf("got the webhooks %v, want that to %s", ids, in.url)
	}
	return ids[0]
}

// recordReads records what callers read before the loss.
func (l *loss) recordReads() {
	l.TB.Helper()
	l.answers = l.recordAnswers()
	for path := range l.answers {
		// These state when a record was imported.
		if strings.HasSuffix(path, "/evidence") || strings.HasPrefix(path, "/v2/meta/") ||
			strings.HasPrefix(path, "/v2/events") || strings.HasPrefix(path, "/v2/signals") {
			delete(l.answers, path)
		}
	}
	var none []json.RawMessage
	r, err := l.Read("/v2/changes", &none)
	if err != nil || r.Meta.Page.NextCursor == nil {
		l.TB.Fatalf("changes: got %+v (%v), want a cursor", r.Meta.Page, err)
	}
	l.changes = *r.Meta.Page.NextCursor
	first := env.Must(l.Page(lossList, 1, ""))(l.TB)
	second := env.Must(l.Page(lossList, 1, first.Next))(l.TB)
	l.next, l.rows = first.Next, second.Rows
	e := newExporter(l.TB, l.URL)
	l.export = e.download(e.awaitManifest(proposalKey("a.eth", "recent")))
}

// lossList is the list whose cursor goes on over a loss.
const lossList = "/v2/proposals?sort=createdDesc"

// lose stops the service and deletes its warehouse, and what Redis holds, but keeps the log.
func (l *loss) lose() {
	l.TB.Helper()
	l.Stop()
	env.WriteLines(l.TB, filepath.Join(l.dir, "logs", "node.log"), l.Output.String())
	if l.warehouse {
		env.MustDo(l.TB, os.RemoveAll(l.data))
	}
	if l.lossCase.redis {
		env.FlushRedis(l.TB, env.RedisClient(l.TB, l.redis.URL))
	}
}

// recover runs the commands of docs/production.md where the warehouse was lost, and returns what the last one
// prints, the transactions that are not in the ledger.
func (l *loss) recover() (missing string) {
	l.TB.Helper()
	commands := lossCommands(l.TB)
	if !l.warehouse {
		commands = []string{serveCommand, commands[len(commands)-2], commands[len(commands)-1]}
	}
	for _, command := range commands {
		if command == serveCommand {
			l.until = len(l.gone.got())
			l.instance = start(l.TB, l.data, l.settings, "serve").ready()
			l.AwaitPublished()
			continue
		}
		missing = l.shell(strings.Replace(command, " ID ", " "+l.rotated.ID+" ", 1))
	}
	l.AwaitPublished()
	return missing
}

// serveCommand is the command of the document that starts the service.
const serveCommand = "bin/pnyx serve"

// lossCommands are the commands of the document, in their order.
func lossCommands(tb testing.TB) (commands []string) {
	tb.Helper()
	text := env.ReadFile(tb, "../../docs/production.md")
	_, section, _ := strings.Cut(string(text), "\n## Everything is lost\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if command, found := strings.CutPrefix(line, "    $ "); found {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	if len(commands) < 7 || !slices.Contains(commands, serveCommand) {
		tb.Fatalf("docs/production.md has the commands %q, want those from the restore to the comparison of payments", commands)
	}
	return commands
}

// shell runs a command of the document, which must succeed.
func (l *loss) shell(text string) string {
	l.TB.Helper()
	command := exec.CommandContext(l.TB.Context(), "bash", "-o", "pipefail", "-c", text)
	command.Dir, command.Env = l.dir, append(os.Environ(), l.Environ...)
	out, err := command.CombinedOutput()
	if err != nil {
		l.TB.Fatalf("%s: %v\n%s", text, err, out)
	}
	return string(out)
}

// rotate replaces the rotated token at once.
func (l *loss) rotate() (renewed issuedToken) {
	l.TB.Helper()
	out := env.MustRun(l.TB, l.Environ, "token", "rotate", l.rotated.ID, "--overlap", "0s", "--json")
	if err := json.Unmarshal([]byte(out), &renewed); err != nil {
		l.TB.Fatalf("%v in %s", err, out)
	}
	return renewed
}

// issue issues a token and waits until it is accepted.
func (l *loss) issue(name string) issuedToken {
	l.TB.Helper()
	m := issueToken(l.TB, l.Environ, "--name", name, "--plan", "custom", "--scopes", "v2:paid:*",
		"--limits", "1000,60000,10000,60000,10000")
	l.awaitStatus(m, http.StatusOK)
	return m
}

func (l *loss) awaitStatus(token issuedToken, want int) {
	l.TB.Helper()
	env.Until(l.TB, func() error {
		if status, body := l.statusOf(l.path, token.Token); status != want {
			return fmt.Errorf("token %s: got %d %s, want %d", token.ID, status, body, want)
		}
		return nil
	})
}

// spend uses the early token, and waits until the warehouse has all of its usage.
func (l *loss) spend(requests int) {
	l.TB.Helper()
	for range requests {
		l.statusOf(l.path, l.early.Token)
	}
	want := l.usedOf(l.early)
	env.Until(l.TB, func() error {
		if rows := l.Column("SELECT toString(sum(charged)) FROM usage_by_day WHERE token_id = ?", l.early.ID); len(rows) != 1 || rows[0] != want {
			return fmt.Errorf("charged: got %s, want %s", rows, want)
		}
		return nil
	})
}

func (l *loss) usedOf(token issuedToken) (used string) {
	l.TB.Helper()
	env.Until(l.TB, func() error {
		said, err := usageOf(l.instance, token.Token)
		used = said.Month.Used
		return err
	})
	return used
}

// buy pays for an answer, and waits until the payment is in the ledger.
func (l *loss) buy() (header string) {
	l.TB.Helper()
	before := len(l.ledger.Transfers())
	header = l.sign()
	env.Until(l.TB, func() error {
		status, body, _, err := l.pay(header)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("got %d %s, want an answer", status, body)
		}
		return err
	})
	transfers := l.ledger.Transfers()
	if len(transfers) != before+1 {
		l.TB.Fatalf("got %d transfers, want %d", len(transfers), before+1)
	}
	l.awaitInLedger(transfers[before].Hash)
	return header
}

func (l *loss) awaitInLedger(hash string) {
	l.TB.Helper()
	env.Until(l.TB, func() error {
		if out := env.MustRun(l.TB, l.Environ, "payments", "list", "--state", "settled"); !strings.Contains(out, hash) {
			return fmt.Errorf("got %s, want the transaction %s", out, hash)
		}
		return nil
	})
}

func (l *loss) revision() uint64 {
	l.TB.Helper()
	published := env.Must(env.Store(l.TB, l.redis.URL).PublicationState(l.TB.Context()))(l.TB)
	return published.Revision
}

// checkLedger wants each settled payment in the ledger, or named by the comparison of the document.
func (l *loss) checkLedger(missing string) {
	l.TB.Helper()
	transfers := l.ledger.Transfers()
	if len(transfers) != 2 {
		l.TB.Fatalf("got %d transfers, want 2", len(transfers))
	}
	want := ""
	if l.warehouse && l.lossCase.redis {
		want = transfers[1].Hash
	}
	env.Want(l.TB, want, strings.TrimSpace(missing), "payments that are not in the ledger")
	l.awaitInLedger(transfers[0].Hash)
	if want == "" {
		l.awaitInLedger(transfers[1].Hash)
	} else if out := env.MustRun(l.TB, l.Environ, "payments", "list"); strings.Contains(out, want) {
		l.TB.Errorf("got %s, want no transaction %s", out, want)
	}
}

// checkPayments sends both payments again: none is charged twice, and what is known is answered.
func (l *loss) checkPayments() {
	l.TB.Helper()
	want := map[string]int{l.known: http.StatusOK, l.unknown: http.StatusOK}
	if l.warehouse && l.lossCase.redis {
		want[l.unknown] = http.StatusPaymentRequired
	}
	for header, want := range want {
		env.Until(l.TB, func() error {
			status, body, _, err := l.pay(header)
			if err == nil && status != want {
				err = fmt.Errorf("payment known to the backup: %t: got %d %s, want %d", header == l.known, status, body, want)
			}
			return err
		})
	}
	env.Want(l.TB, 2, len(l.ledger.Transfers()), "transfers")
}

// checkTokens wants the tokens of the backup, revoked or rotated again, and no lower quota than known.
func (l *loss) checkTokens() {
	l.TB.Helper()
	used, late, renewed := l.used[1], http.StatusOK, http.StatusOK
	if l.warehouse {
		late, renewed = http.StatusUnauthorized, http.StatusUnauthorized
	}
	if l.warehouse && l.lossCase.redis {
		used = l.used[0]
	}
	env.Want(l.TB, used, l.usedOf(l.early), "used of the month")
	l.awaitStatus(l.early, http.StatusOK)
	l.awaitStatus(l.late, late)
	l.awaitStatus(l.renewed, renewed)
	l.awaitStatus(l.rotated, http.StatusUnauthorized)
	l.awaitStatus(l.revoked, http.StatusUnauthorized)
}

// checkAnswers wants every answer of before, cursors that go on, the export, and 410 for a place in the changes.
func (l *loss) checkAnswers() {
	l.TB.Helper()
	l.compareAnswers(l.answers)
	env.Until(l.TB, func() error {
		page, err := l.Page(lossList, 1, l.next)
		if err == nil && env.DiffJSON(l.rows, page.Rows) != "" {
			err = fmt.Errorf("after the cursor: got %s, want %s", page.Rows, l.rows)
		}
		return err
	})
	want := http.StatusOK
	if l.warehouse {
		want = http.StatusGone
	}
	var rows []json.RawMessage
	if r, err := l.Ask("/v2/changes?cursor="+l.changes, &rows); err != nil || r.Status != want {
		l.TB.Errorf("changes after the cursor: got %d with %d rows (%v), want %d", r.Status, len(rows), err, want)
	}
	e := newExporter(l.TB, l.URL)
	if got := e.download(e.awaitManifest(proposalKey("a.eth", "recent"))); !bytes.Equal(got, l.export) {
		l.TB.Errorf("export: got\n%s\nwant\n%s", got, l.export)
	}
}

// checkWebhooks wants what was delivered since the backup again, with the same ids, but for a removed one.
func (l *loss) checkWebhooks() {
	l.TB.Helper()
	if l.warehouse {
		env.Until(l.TB, func() error { return l.kept.has(l.sent, 2) })
	}
	if got := len(l.gone.got()); got != l.until {
		l.TB.Errorf("the receiver of a webhook that is removed again got %d messages, want none", got-l.until)
	}
}
