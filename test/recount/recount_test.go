package recount_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// The expected answers about every DAO and every proposal are computed from upstream's own files, in exact
// decimals and by the written rules, without code of the service.
func TestRecountOfRealData(t *testing.T) {
	dir := realData(t)

	began := time.Now()
	counted, failed := make(chan *expected, 1), make(chan error, 1)
	go func() {
		want, err := recountOf(dir, began, nil)
		counted <- want
		failed <- err
	}()
	r := &recount{Pnyx: startEmpty(t), right: map[string]answer{}}
	report := r.importFolder(t, dir)
	r.want = <-counted
	env.MustDo(t, <-failed)
	t.Logf("%d proposals; of the ballots %d are recasts and %d of no known proposal",
		len(r.want.polls), r.want.recasts, r.want.waiting)
	r.settle(t)

	t.Run("the import takes in every record", func(t *testing.T) { r.checkReport(t, report, true) })
	t.Run("the list shows every DAO once, however it is paged", r.checkPages)
	t.Run("the list filters DAOs", r.checkFilters)
	t.Run("every DAO is counted exactly", func(t *testing.T) { r.checkAll(t, `^/v2/daos/`) })
	t.Run("every proposal is told as upstream published it", func(t *testing.T) { r.checkAll(t, `^/v2/proposals/[^/]+$`) })
	t.Run("every vote summary is exact", func(t *testing.T) { r.checkAll(t, `/votes/summary$`) })
	t.Run("the recount agrees with upstream's own", r.checkScores)
	t.Run("data status tells the state of every DAO", func(t *testing.T) { r.checkStatus(t) })
	t.Run("the evidence names its sources and flags what is amiss", func(t *testing.T) { r.checkEvidence(t, began) })
	t.Run("what does not exist is not found", r.checkMissing)
	t.Run("a second import changes nothing", func(t *testing.T) { r.checkSecondImport(t, dir) })
	t.Run("no vote is complete of which a file lacks ballots", func(t *testing.T) { r.checkCutFile(t, dir, began) })
}

// recount is the running service with its expected answers.
type recount struct {
	*env.Pnyx
	want *expected

	mu    sync.Mutex
	right map[string]answer // correct answers, by path
}

// answer is a response of the service.
type answer struct {
	data json.RawMessage
	meta env.Meta
}

// ask fetches a path. Unlike get it may be called from any goroutine.
func (r *recount) ask(path string) (answer, error) {
	var body struct {
		Data json.RawMessage `json:"data"`
		Meta env.Meta        `json:"meta"`
	}
	status, text, err := env.Fetch(r.URL + path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s", status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		return answer{}, fmt.Errorf("GET %s: %w", path, err)
	}
	return answer{data: body.Data, meta: body.Meta}, nil
}

// compare fetches paths and returns the differences by path, on as many goroutines as connections.
func (r *recount) compare(paths []string, differs func(path string, got answer) string) (wrong map[string]string) {
	wrong = map[string]string{}
	queue := make(chan string)
	var wait sync.WaitGroup
	for range http.DefaultMaxIdleConnsPerHost {
		wait.Go(func() {
			for path := range queue {
				got, err := r.ask(path)
				difference := fmt.Sprint(err)
				if err == nil {
					difference = differs(path, got)
				}
				r.mu.Lock()
				if r.right[path] = got; difference != "" {
					wrong[path] = difference
					delete(r.right, path)
				}
				r.mu.Unlock()
			}
		})
	}
	for _, path := range paths {
		queue <- path
	}
	close(queue)
	wait.Wait()
	return wrong
}

// checkAll compares all paths of a form, those that differ again: a node's memory lags behind.
func (r *recount) checkAll(t *testing.T, form string) {
	t.Helper()
	of := regexp.MustCompile(form)
	paths := slices.Sorted(maps.Keys(r.want.answers))
	paths = slices.DeleteFunc(paths, func(path string) bool { return !of.MatchString(path) })
	wrong := r.compare(paths, r.differs)
	for range 5 {
		wrong = r.compare(slices.Sorted(maps.Keys(wrong)), r.differs)
	}
	t.Logf("%d of %d answers are exact", len(paths)-len(wrong), len(paths))
	reportWrong(t, wrong)
}

// differs compares an answer with the expected one, field by field, neither more nor fewer.
func (r *recount) differs(path string, got answer) string {
	want := maps.Clone(r.want.answers[path])
	said, ok := env.Plain(got.data).(object)
	if !ok {
		return fmt.Sprintf("not an object: %s", got.data)
	}
	// The contract specifies lower case for voters and nothing for proposers.
	if proposer, isText := want["proposerId"].(*string); isText && proposer != nil && said["proposerId"] == strings.ToLower(*proposer) {
		want["proposerId"] = said["proposerId"]
	}
	totals, isSummary := want["totals"]
	if err := got.meta.Check(!isSummary || totals != nil); err != nil {
		return err.Error()
	}
	return cmp.Diff(env.Plain(want), any(said))
}

// reportWrong fails the test with the first differences.
func reportWrong(t *testing.T, wrong map[string]string) {
	t.Helper()
	for i, path := range slices.Sorted(maps.Keys(wrong)) {
		if i == 20 {
			t.Errorf("%d answers are wrong, %d more than shown", len(wrong), len(wrong)-i)
			return
		}
		t.Errorf("GET %s (-want +got):\n%s", path, wrong[path])
	}
}

// settle waits until everything that was imported is published, and in the feed.
func (r *recount) settle(t *testing.T) {
	t.Helper()
	r.AwaitPublished()
	r.AwaitFeed()
	env.Until(t, r.unpublished)
}

// unpublished names a DAO that does not have all proposals and votes yet.
func (r *recount) unpublished() error {
	for path, want := range r.want.answers {
		if !strings.HasPrefix(path, "/v2/daos/") {
			continue
		}
		got, err := r.ask(path)
		if err != nil {
			return err
		}
		if total(env.Plain(got.data)) != total(env.Plain(want)) {
			return fmt.Errorf("GET %s: %s of proposals and votes, want %s", path, total(env.Plain(got.data)), total(env.Plain(want)))
		}
	}
	return nil
}

// total returns the numbers of proposals and votes in a DAO's answer.
func total(dao any) string {
	fields, _ := dao.(object)
	counts, _ := fields["proposalCounts"].(object)
	participation, _ := fields["participation"].(object)
	return fmt.Sprint(counts["total"], " and ", participation["totalVotes"])
}

// importFolder runs the import and returns its report.
func (r *recount) importFolder(t *testing.T, dir string) string {
	t.Helper()
	report, status := env.Run(t, r.Environ, "import", dir)
	if status != 0 {
		t.Fatalf("import of the real data: status %d\n%s", status, report)
	}
	return report
}

// checkReport checks the table at the end of an import whose records are all new or all
// unchanged.
func (r *recount) checkReport(t *testing.T, report string, fresh bool) {
	t.Helper()
	read := map[string]string{}
	table := regexp.MustCompile(`│ (\w+) +│ +(\d+) │ +(\d+) │ +(\d+) │ +(\d+) │ +(\d+) │`)
	for _, row := range table.FindAllStringSubmatch(report, -1) {
		want := []string{"0", "0", row[2], "0"} // new, changed, unchanged, rejected
		if fresh {
			want = []string{row[2], "0", "0", "0"}
		}
		env.WantSame(t, fmt.Sprintf("import of %s", row[1]), want, row[3:])
		read[row[1]] = row[2]
	}
	for kind, want := range r.want.records {
		env.Want(t, strconv.Itoa(want), read[kind], "import", kind, "read")
	}
	if want := fmt.Sprintf("%d ballots wait for a proposal", r.want.waiting); r.want.waiting > 0 && !strings.Contains(report, want) {
		t.Errorf("import report lacks %q:\n%s", want, report)
	}
}

// list walks the DAO list page by page; limit 0 leaves the page size to the service.
func (r *recount) list(query string, limit int) (all []any, err error) {
	path, limits := "/v2/daos?"+query, 50
	if limit > 0 {
		path, limits = path+"&limit="+strconv.Itoa(limit), limit
	}
	path = strings.TrimSuffix(strings.Replace(path, "?&", "?", 1), "?")
	for next := path; ; {
		got, err := r.ask(next)
		if err != nil {
			return nil, err
		}
		rows, ok := env.Plain(got.data).([]any)
		page := got.meta.Page
		if !ok || page.Limit != limits || len(rows) > limits || page.HasMore && len(rows) < limits || page.HasMore != (page.NextCursor != nil) {
			return nil, fmt.Errorf("GET %s: %s, meta.page %+v, want an array, and pages of %d", next, got.data, page, limits)
		}
		all = append(all, rows...)
		if !page.HasMore {
			return all, nil
		}
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		next = path + mark + "cursor=" + *page.NextCursor
	}
}

func (r *recount) checkPages(t *testing.T) {
	n := len(r.want.daos)
	for _, limit := range []int{0, 1, 2, 7, n - 1, n, 100} {
		got, err := r.list("", limit)
		if diff := cmp.Diff(env.Plain(r.want.daos), any(got)); diff != "" || err != nil {
			t.Errorf("DAO list by pages of %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
}

func (r *recount) checkFilters(t *testing.T) {
	filters := []string{
		"hasVoteData=true", "hasVoteData=false", "hasForumData=true", "hasForumData=false",
		"coverageStatus=complete", "coverageStatus=partial", "coverageStatus=backfilling", "coverageStatus=unavailable",
	}
	for i, one := range filters {
		r.checkFilter(t, one)
		for _, two := range filters[i+1:] {
			if name, _, _ := strings.Cut(one, "="); !strings.HasPrefix(two, name) {
				r.checkFilter(t, one, two)
			}
		}
	}
}

// checkFilter compares a filtered list with the complete list, filtered by the test.
func (r *recount) checkFilter(t *testing.T, filters ...string) {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(r.want.daos), func(dao object) bool {
		return slices.ContainsFunc(filters, func(filter string) bool {
			name, value, _ := strings.Cut(filter, "=")
			return fmt.Sprint(dao[name]) != value
		})
	})
	for _, limit := range []int{0, 1, 4} {
		got, err := r.list(strings.Join(filters, "&"), limit)
		if err != nil {
			t.Error(err)
			return
		}
		env.WantSame(t, fmt.Sprintf("DAO list of %v by pages of %d", filters, limit), env.Plain(append([]object{}, want...)), any(append([]any{}, got...)))
	}
}

// checkScores compares the recount with upstream's figures where all ballots are stored.
// Upstream computes in floating point, so about nine digits must be equal.
func (r *recount) checkScores(t *testing.T) {
	var scores, exactScores, totals, exactTotals int
	for key, p := range r.want.polls {
		result := r.want.results[key]
		if len(p.ballots) == 0 || p.stated != nil && *p.stated != result.votes {
			continue
		}
		if p.total != nil {
			totals++
			exactTotals += agree(t, key+", all", p.total, result.power)
		}
		if len(p.scores) != len(p.keys) {
			continue
		}
		for i, score := range p.scores {
			scores++
			exactScores += agree(t, key+", choice "+p.keys[i], score, result.lines[i].power)
		}
	}
	t.Logf("%d scores compared, %d equal to the last digit; %d totals, %d equal", scores, exactScores, totals, exactTotals)
}

// agree compares one figure. It returns 1 if all digits are equal.
func agree(t *testing.T, what string, upstream *big.Rat, ours power) int {
	t.Helper()
	difference := new(big.Rat).Sub(upstream, ratio(ours))
	if difference.Sign() == 0 {
		return 1
	}
	if allowed := new(big.Rat).Mul(upstream, big.NewRat(1, 1e9)); difference.Abs(difference).Cmp(allowed) > 0 {
		t.Errorf("%s: upstream counted %s, the ballots sum to %s", what, upstream.FloatString(places), decimalText(ours, places))
	}
	return 0
}

// checkStatus compares data status with the list. An import is as of its newest record.
func (r *recount) checkStatus(t *testing.T) {
	t.Helper()
	votes := map[any]bool{}
	check := func(path string, want object) {
		got, err := r.ask(path)
		said, ok := env.Plain(got.data).(object)
		if err != nil || !ok {
			t.Errorf("%v, got %s", err, got.data)
			return
		}
		env.WantSame(t, fmt.Sprintf("GET %s", path), env.Plain(want), any(said))
	}
	latest := func(newest object, sources []object) object {
		for _, source := range sources {
			field := "governanceAt"
			if source["provider"] == "discourse" {
				field = "forumAt"
			}
			at, _ := source["newestRecordAt"].(*string)
			if before, _ := newest[field].(*string); text(at) > text(before) {
				newest[field] = at
			}
		}
		return newest
	}
	none := func() object { return object{"governanceAt": nil, "forumAt": nil} }
	all := none()
	for _, dao := range r.want.daos {
		votes[dao["voteCoverageStatus"]] = true
		sources := r.want.answers[fmt.Sprint("/v2/daos/", dao["daoId"])]["sources"].([]object) //nolint:errcheck // made here
		all = latest(all, sources)
		check(fmt.Sprint("/v2/meta/data-status?daoId=", dao["daoId"]), object{
			"scope": "dao", "daoId": dao["daoId"],
			"coverageStatus": dao["coverageStatus"], "voteCoverageStatus": dao["voteCoverageStatus"],
			"latestSuccessfulSync": latest(none(), sources), "sources": statusesOf(sources),
		})
	}
	global := object{"scope": "global", "daoId": nil, "coverageStatus": "complete", "voteCoverageStatus": "partial", "latestSuccessfulSync": all}
	if len(votes) == 1 {
		global["voteCoverageStatus"] = r.want.daos[0]["voteCoverageStatus"]
	}
	check("/v2/meta/data-status", global)
}

// statusesOf returns the sources of a DAO as its data status has them: nobody follows them.
func statusesOf(sources []object) (statuses []object) {
	for _, source := range sources {
		status := object{
			"sourceType": source["provider"], "sourceId": source["id"], "state": "imported", "reason": nil,
			"readThroughAt": nil, "lagSeconds": nil, "nextAttemptAt": nil, "backfill": nil,
			"gaps": 0, "withdrawn": 0, "rejected": 0, "reorganizations": 0,
		}
		maps.Copy(status, source)
		statuses = append(statuses, status)
	}
	return statuses
}

func (r *recount) checkMissing(t *testing.T) {
	unknown := (&poll{daoID: "no-such-dao"}).key()
	for path, want := range map[string]string{
		"/v2/daos/no-such-dao":                        "404 NOT_FOUND",
		"/v2/meta/data-status?daoId=no-such-dao":      "404 NOT_FOUND",
		"/v2/proposals/" + unknown:                    "404 NOT_FOUND",
		"/v2/proposals/" + unknown + "/votes/summary": "404 NOT_FOUND",
		"/v2/proposals/" + unknown + "/evidence":      "404 NOT_FOUND",
		"/v2/proposals/" + unknown[:20]:               "400 VALIDATION_ERROR",
	} {
		var body struct {
			Error struct {
				Code    string `json:"code"`
				Message string `json:"message"`
				Details object `json:"details"`
			} `json:"error"`
			Meta object `json:"meta"`
		}
		status, text, err := env.Fetch(r.URL + path)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if got := fmt.Sprint(status, " ", body.Error.Code); err != nil || got != want {
			t.Errorf("GET %s: got %s (%v), want %s", path, got, err, want)
		}
		if body.Error.Message == "" || body.Error.Details == nil || body.Meta["requestId"] == nil {
			t.Errorf("GET %s: not the error envelope: %s", path, text)
		}
	}
}

// checkSecondImport imports the folder again: no record is new, every answer is
// unchanged, and so is the update time of every proposal.
func (r *recount) checkSecondImport(t *testing.T, dir string) {
	t.Helper()
	r.checkReport(t, r.importFolder(t, dir), false)
	r.AwaitPublished()
	first := maps.Clone(r.right)
	wrong := r.compare(slices.Sorted(maps.Keys(first)), func(path string, got answer) string {
		was := first[path]
		if strings.HasPrefix(path, "/v2/proposals/") && got.meta.DataAsOf != was.meta.DataAsOf {
			return "dataAsOf was " + was.meta.DataAsOf + ", is " + got.meta.DataAsOf
		}
		// A dossier is computed when it is asked for, and not kept for ever.
		if bytes.Contains(was.data, []byte(pendingDossier)) || bytes.Contains(got.data, []byte(pendingDossier)) {
			return cmp.Diff(withoutDossier(was.data), withoutDossier(got.data))
		}
		return cmp.Diff(string(was.data), string(got.data))
	})
	t.Logf("%d of %d answers are unchanged", len(first)-len(wrong), len(first))
	reportWrong(t, wrong)
}

// checkCutFile imports half a file of ballots, which has no end, and then the file.
func (r *recount) checkCutFile(t *testing.T, dir string, began time.Time) {
	t.Helper()
	path := filepath.Join(dir, "snapshot", "votes", "snapshot.dcl.eth.ndjson.gz")
	ballots := env.Must(readFile[json.RawMessage](path))(t)
	var cut bytes.Buffer
	zipped := gzip.NewWriter(&cut)
	lacking := map[string]bool{}
	for _, line := range ballots[:len(ballots)/2] {
		var b snapshotBallot
		env.MustDo(t, json.Unmarshal(line, &b))
		lacking[b.Proposal.ID] = true
		env.Must(zipped.Write(append(line, '\n')))(t)
	}
	env.MustDo(t, zipped.Flush())
	file := filepath.Join(t.TempDir(), "cut.ndjson.gz")
	env.MustDo(t, os.WriteFile(file, cut.Bytes(), 0o600))
	for _, step := range []struct {
		file    string
		status  int
		lacking map[string]bool
	}{{file, 3, lacking}, {path, 0, nil}} {
		if report, status := env.Run(t, r.Environ, "import", step.file); status != step.status {
			t.Fatalf("import: status %d, want %d\n%s", status, step.status, report)
		}
		r.AwaitPublished()
		r.want = env.Must(recountOf(dir, began, step.lacking))(t)
		r.checkAll(t, `^/v2/daos/|/votes/summary$`)
	}
}

// pendingDossier is in the evidence of a proposal whose dossier is computed.
const pendingDossier = `"intelligence":{"status":"pending"`

// withoutDossier returns the fields of an evidence but its dossier.
func withoutDossier(evidence json.RawMessage) (fields map[string]string) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(evidence, &all); err != nil {
		return map[string]string{"error": err.Error()}
	}
	delete(all, "intelligence")
	fields = map[string]string{}
	for name, value := range all {
		fields[name] = string(value)
	}
	return fields
}
