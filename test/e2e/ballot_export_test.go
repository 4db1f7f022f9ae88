package e2e_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/access"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// exporter downloads exports from an address: a node's, or an edge's.
type exporter struct {
	testing.TB

	base string
	// header is sent with every request.
	header http.Header
	// requests counts the requests.
	requests int
}

func newExporter(tb testing.TB, base string) *exporter {
	tb.Helper()
	return &exporter{TB: tb, base: base, header: http.Header{access.HeaderInternal: {env.InternalToken}}}
}

// exportAnswer is an answer without its body.
type exportAnswer struct {
	StatusCode    int
	Header        http.Header
	ContentLength int64
}

// fetch sends a request with further headers, in pairs, and returns the answer and its body as sent.
func (e *exporter) fetch(path string, headers ...string) (*exportAnswer, []byte, error) {
	request, err := http.NewRequestWithContext(e.Context(), http.MethodGet, e.base+path, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	request.Header = e.header.Clone()
	request.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	e.requests++
	response, err := env.Client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return &exportAnswer{response.StatusCode, response.Header, response.ContentLength}, body, err
}

// get is fetch for an answer that must have a status, once the machine is fast enough.
func (e *exporter) get(path string, status int, headers ...string) (answer *exportAnswer, body []byte) {
	e.Helper()
	env.Until(e, func() (err error) {
		answer, body, err = e.fetch(path, headers...)
		if err == nil && answer.StatusCode != status {
			err = fmt.Errorf("GET %s: got %d %.300s, want %d", path, answer.StatusCode, body, status)
		}
		if err != nil {
			e.requests--
		}
		return err
	})
	return answer, body
}

// manifest begins an export.
func (e *exporter) manifest(key string) (export governance.BallotExport) {
	e.Helper()
	_, body := e.get("/v2/proposals/"+key+"/votes/export", http.StatusOK)
	if err := json.Unmarshal(body, &struct{ Data any }{&export}); err != nil {
		e.Fatal(err)
	}
	return export
}

// awaitManifest begins an export of as many ballots as the summary has.
func (e *exporter) awaitManifest(key string) (export governance.BallotExport) {
	e.Helper()
	env.Until(e, func() error {
		_, body := e.get("/v2/proposals/"+key+"/votes/summary", http.StatusOK)
		var summary governance.VoteSummary
		if err := json.Unmarshal(body, &struct{ Data any }{&summary}); err != nil {
			return err
		}
		export = e.manifest(key)
		if summary.Totals == nil || export.Votes != summary.Held.Votes || export.VotingPower != summary.Held.VotingPower {
			return fmt.Errorf("got an export of %s ballots and %s, want the totals %+v", export.Votes, export.VotingPower, summary.Totals)
		}
		return nil
	})
	return export
}

// download returns all parts, joined.
func (e *exporter) download(export governance.BallotExport) []byte {
	e.Helper()
	var all []byte
	for _, part := range export.Parts {
		_, body := e.get(part.Href, http.StatusOK)
		all = append(all, body...)
	}
	return all
}

// checkTotals holds the rows of an export against its manifest.
func checkTotals(t *testing.T, export governance.BallotExport, text []byte) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	sum := decimal.Zero
	for _, line := range lines {
		var ballot governance.Ballot
		if err := json.Unmarshal(line, &ballot); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		sum = sum.Add(decimal.RequireFromString(string(ballot.VotingPower)))
	}
	if got := strconv.Itoa(len(lines)); got != string(export.Votes) || governance.DecimalOf(sum) != export.VotingPower {
		t.Errorf("got %s ballots with %s, want %s with %s", got, sum, export.Votes, export.VotingPower)
	}
}

// exportedVotes are the proposals whose ballots the tests export.
type exportedVotes struct {
	*instance

	// closed and open have several parts, small has one.
	closed, open, small string
}

// parts is how many parts the large votes have.
const parts = 2

func startExportedVotes(t *testing.T, environ ...string) exportedVotes {
	t.Helper()
	i := startShared(t, environ, "serve").ready()
	i.ImportLines(goodSpace)
	i.ImportLines(proposalLine("a.eth", "closed"), proposalLine("a.eth", "small"),
		strings.NewReplacer(`"closed",`, `"open",`, "1701000000", "1901000000").Replace(
			strings.Replace(proposalLine("a.eth", "open"), `"state":"closed"`, `"state":"active"`, 1)))
	large := (parts-1)*query.ExportRows + 300
	i.ImportLines(slices.Concat(castBallots("closed", 0, large), castBallots("open", 0, large), castBallots("small", 0, 7))...)
	i.AwaitPublished()
	votes := exportedVotes{i, proposalKey("a.eth", "closed"), proposalKey("a.eth", "open"), proposalKey("a.eth", "small")}
	// A copy of an open vote is exported for a while, also if it was made in the midst of the import.
	env.Until(t, func() error {
		const current = `SELECT subject FROM sorted_copies FINAL WHERE kind = 'ballots' AND (subject, revision) IN
			(SELECT proposal_key, revision FROM proposal_states FINAL)`
		if copied := votes.Column(current); len(copied) < 2 {
			return fmt.Errorf("got copies of %q, want copies of two large votes", copied)
		}
		return nil
	})
	return votes
}

// castBallots are ballots of voters, many of equal power, each with another one that it supersedes.
func castBallots(proposal string, first, last int) []string {
	const line = `{"id":"%s-%d-%d","proposal":{"id":"%[1]s"},"space":{"id":"a.eth"},"voter":"0x%[2]x","created":%[4]d,"choice":%d,"vp":%d.%018d}`
	var lines []string
	for n := first; n < last; n++ {
		lines = append(lines, fmt.Sprintf(line, proposal, n, 2, 1700000000+n, n%2+1, n%50, n%7))
		if n%10 == 0 {
			lines = append(lines, fmt.Sprintf(line, proposal, n, 1, 1699999000, 1, 1000, 1))
		}
	}
	return lines
}

func TestExport(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	server := env.Redis(t)
	votes := startExportedVotes(t, "REDIS_URL="+server.URL)
	for name, key := range map[string]string{"of a large vote": votes.closed, "of a small vote": votes.small} {
		t.Run("equals the walk by cursor "+name, func(t *testing.T) { checkEqualsWalk(t, votes, key) })
	}
	client := env.RedisClient(t, server.URL)
	edge := startExportEdge(t, votes.instance)
	callers := map[string]func(testing.TB) *exporter{
		"directly": votes.exporter, "through an edge": edge.exporter,
	}
	t.Run("has the same bytes through an edge", func(t *testing.T) { checkEdge(t, votes, edge.exporter(t)) })
	t.Run("is one state while ballots arrive", func(t *testing.T) { checkArrivals(t, votes, client, callers) })
	t.Run("has the same bytes after a flush, or is gone", func(t *testing.T) { checkFlush(t, votes, client, callers) })
	edge.Stop()
	votes.Stop()
}

func checkEqualsWalk(t *testing.T, votes exportedVotes, key string) {
	t.Helper()
	e := newExporter(t, votes.URL)
	e.awaitManifest(key)
	e.requests = 0
	export := e.manifest(key)
	text := e.download(export)
	count, err := strconv.Atoi(string(export.Votes))
	if want := (count+query.ExportRows-1)/query.ExportRows + 1; err != nil || e.requests != want {
		t.Errorf("got %d requests for %d ballots, want %d", e.requests, count, want)
	}
	checkTotals(t, export, text)
	rows := env.Must(votes.Walk("/v2/proposals/"+key+"/votes", 500))(t)
	var walked []byte
	for _, row := range rows { // an export does not change with names
		walked = append(append(walked, bytes.Replace(row, []byte(`,"voterName":null`), nil, 1)...), '\n')
	}
	if !bytes.Equal(text, walked) {
		t.Errorf("got %d bytes, want the %d of the walk", len(text), len(walked))
	}
	env.Until(t, func() error {
		if export := e.manifest(key); !export.Final {
			return fmt.Errorf("got %+v, want a final export of a closed vote", export)
		}
		return nil
	})
	last := export.Parts[len(export.Parts)-1]
	checkForms(t, e, last)
	checkResumed(t, e, last)
	after := strings.TrimSuffix(last.Href, strconv.Itoa(len(export.Parts))) + strconv.Itoa(len(export.Parts)+1)
	e.get(after, http.StatusGone)
}

// exporter downloads from the node.
func (v exportedVotes) exporter(tb testing.TB) *exporter {
	tb.Helper()
	return newExporter(tb, v.URL)
}

// exportEdge is an edge before a node whose exports are downloaded.
type exportEdge struct {
	*instance

	// base is its address, and token a partner's.
	base, token string
}

func startExportEdge(t *testing.T, node *instance) exportEdge {
	t.Helper()
	edge, base := startEdge(t, node)
	issued := issueToken(t, node.Environ, "--name", "ACME", "--plan", "custom", "--scopes", "v2:paid:plus",
		"--limits", "9000,60000,10000,60000,10000")
	return exportEdge{edge, base, issued.Token}
}

// exporter downloads through the edge.
func (e exportEdge) exporter(tb testing.TB) *exporter {
	tb.Helper()
	through := newExporter(tb, e.base)
	through.header = http.Header{access.HeaderToken: {e.token}}
	return through
}

func checkEdge(t *testing.T, votes exportedVotes, e *exporter) {
	t.Helper()
	direct := newExporter(t, votes.URL)
	for _, key := range []string{votes.closed, votes.small} {
		export := e.manifest(key)
		if !bytes.Equal(e.download(export), direct.download(export)) {
			t.Errorf("got other bytes through the edge than from a node")
		}
		last := export.Parts[len(export.Parts)-1]
		checkForms(t, e, last)
		checkResumed(t, e, last)
		env.Until(t, func() error { // limits are exact while Redis answers in time
			whole, _ := e.get(last.Href, http.StatusOK)
			rest, _ := e.get(last.Href, http.StatusPartialContent, "Range", "bytes=9-")
			for answer, charged := range map[*exportAnswer]bool{whole: true, rest: false} {
				if !strings.Contains(answer.Header.Get("Cache-Status"), "pnyx-edge; hit") || strings.Contains(answer.Header.Get("RateLimit"), `"month"`) != charged {
					return fmt.Errorf("%d: got %v, want a hit that is charged: %t", answer.StatusCode, answer.Header, charged)
				}
			}
			return nil
		})
	}
}

// forgetParts removes the parts that Redis holds.
func forgetParts(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*:page:ballot-part:*").Result()
	if err == nil && len(keys) > 0 {
		err = client.Del(t.Context(), keys...).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkArrivals has callers download an export while ballots arrive.
func checkArrivals(t *testing.T, votes exportedVotes, client redis.UniversalClient, callers map[string]func(testing.TB) *exporter) {
	t.Helper()
	e := newExporter(t, votes.URL)
	export := e.awaitManifest(votes.open)
	if export.Final {
		t.Error("got a final export of an open vote")
	}
	before := e.download(export)
	checkTotals(t, export, before)
	for round := range 3 {
		first := 50_000 + round*20
		votes.ImportLines(slices.Concat(castBallots("open", first, first+20), castBallots("small", first, first+2))...)
		votes.AwaitPublished()
		forgetParts(t, client)
		for name, caller := range callers {
			if after := caller(t).download(export); !bytes.Equal(after, before) {
				t.Errorf("after %d ballots, %s: got other bytes of the same revision", 20*(round+1), name)
			}
			small := caller(t).awaitManifest(votes.small)
			checkTotals(t, small, caller(t).download(small))
		}
	}
}

// checkFlush has callers go on with exports after Redis was flushed.
func checkFlush(t *testing.T, votes exportedVotes, client redis.UniversalClient, callers map[string]func(testing.TB) *exporter) {
	t.Helper()
	e := newExporter(t, votes.URL)
	export, small := e.manifest(votes.closed), e.manifest(votes.small)
	text, rows := e.download(export), e.download(small)
	env.FlushRedis(t, client)
	for name, caller := range callers {
		for n, part := range export.Parts {
			checkPartOrGone(t, caller(t), part, text, fmt.Sprintf("%s, part %d", name, n+1))
		}
		again := caller(t).awaitManifest(votes.small)
		if again.Revision != small.Revision || !bytes.Equal(caller(t).download(small), rows) {
			t.Errorf("%s: got the revision %s of the same ballots, want %s and the same bytes", name, again.Revision, small.Revision)
		}
		again = caller(t).awaitManifest(votes.closed)
		checkTotals(t, again, caller(t).download(again))
	}
}

// checkPartOrGone waits until a part is answered, with bytes of a text or 410.
func checkPartOrGone(t *testing.T, e *exporter, part governance.ExportPart, text []byte, what string) {
	t.Helper()
	env.Until(t, func() error {
		answer, body, err := e.fetch(part.Href)
		switch {
		case err != nil:
			return err
		case answer.StatusCode == http.StatusGone:
			return nil
		case answer.StatusCode != http.StatusOK:
			return fmt.Errorf("%s: got %d %.200s, want 200 or 410", what, answer.StatusCode, body)
		case !bytes.Contains(text, body):
			t.Errorf("%s: got other bytes of the same revision", what)
		}
		return nil
	})
}

// checkForms holds the forms of a part against each other.
func checkForms(t *testing.T, e *exporter, part governance.ExportPart) {
	t.Helper()
	plain, text := e.get(part.Href, http.StatusOK)
	packed, zipped := e.get(part.Href, http.StatusOK, "Accept-Encoding", "gzip, br")
	for body, answer := range map[*[]byte]*exportAnswer{&text: plain, &zipped: packed} {
		sum := sha256.Sum256(*body)
		if want := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"; answer.Header.Get("Repr-Digest") != want ||
			answer.ContentLength != int64(len(*body)) || answer.Header.Get("Accept-Ranges") != "bytes" ||
			answer.Header.Get("Content-Type") != "application/x-ndjson" || strings.HasPrefix(answer.Header.Get("Etag"), "W/") {
			t.Errorf("got %v, want %s and %d bytes", answer.Header, want, len(*body))
		}
	}
	unzip := env.Must(gzip.NewReader(bytes.NewReader(zipped)))(t)
	if unzipped, err := io.ReadAll(unzip); err != nil || !bytes.Equal(unzipped, text) {
		t.Errorf("got %d bytes and %v, want the %d of the plain form", len(unzipped), err, len(text))
	}
	if plain.Header.Get("Etag") == packed.Header.Get("Etag") {
		t.Errorf("got %s for both forms, want two names", plain.Header.Get("Etag"))
	}
	e.get(part.Href, http.StatusNotModified, "If-None-Match", plain.Header.Get("Etag"))
	table, values := e.get(part.Href+"?format=csv", http.StatusOK)
	records, err := csv.NewReader(bytes.NewReader(values)).ReadAll()
	if err != nil || len(records) != part.Rows+1 || records[0][0] != "voteId" || !strings.HasPrefix(table.Header.Get("Content-Type"), "text/csv") {
		t.Errorf("got %d records of %s and %v, want the names and %d", len(records), table.Header.Get("Content-Type"), err, part.Rows)
	}
}

// checkResumed interrupts the download of a part at many places.
func checkResumed(t *testing.T, e *exporter, part governance.ExportPart) {
	t.Helper()
	whole, text := e.get(part.Href, http.StatusOK)
	etag := whole.Header.Get("Etag")
	for _, at := range []int{0, 1, len(text) / 3, len(text)/2 + 1, len(text) - 1} {
		answer, rest := e.get(part.Href, http.StatusPartialContent,
			"Range", fmt.Sprintf("bytes=%d-", at), "If-Range", etag, "Accept-Encoding", "gzip")
		if want := fmt.Sprintf("bytes %d-%d/%d", at, len(text)-1, len(text)); !bytes.Equal(rest, text[at:]) ||
			answer.Header.Get("Content-Range") != want || answer.Header.Get("Content-Encoding") != "" || answer.Header.Get("Etag") != etag {
			t.Errorf("from %d: got %d bytes, %v, want %d, %s", at, len(rest), answer.Header, len(text)-at, want)
		}
	}
	if _, middle := e.get(part.Href, http.StatusPartialContent, "Range", "bytes=10-19"); !bytes.Equal(middle, text[10:20]) {
		t.Errorf("got %q, want the ten bytes %q", middle, text[10:20])
	}
	if _, all := e.get(part.Href, http.StatusOK, "Range", "bytes=10-", "If-Range", `"another"`); !bytes.Equal(all, text) {
		t.Errorf("another file is continued: got %d bytes, want all %d", len(all), len(text))
	}
	beyond, _ := e.get(part.Href, http.StatusRequestedRangeNotSatisfiable, "Range", fmt.Sprintf("bytes=%d-", len(text)))
	env.Want(t, fmt.Sprintf("bytes */%d", len(text)), beyond.Header.Get("Content-Range"))
}
