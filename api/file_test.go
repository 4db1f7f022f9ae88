package api_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// exportPath, partPath and csvPath are an export, its first part, and that in another format.
const (
	exportPath = "/v2/proposals/" + string(countedKey) + "/votes/export"
	partPath   = exportPath + "/c1-x/1"
	csvPath    = partPath + "?format=csv"
)

func firstPart() query.BallotPart {
	return query.BallotPart{Proposal: countedKey, Revision: "c1-x", Part: 1, Format: governance.ExportNDJSON}
}

// exampleText is a text that is longer than any buffer.
var exampleText = strings.Repeat(`{"voteId":"1","votingPower":"1.5"}`+"\n", 20_000)

// exampleFile is exampleText as a worker makes it.
func exampleFile(tb testing.TB) cache.File {
	tb.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	env.Must(zip.Write([]byte(exampleText)))(tb)
	env.MustDo(tb, zip.Close())
	plain, zipped := sha256.Sum256([]byte(exampleText)), sha256.Sum256(packed.Bytes())
	return cache.File{Gzip: packed.Bytes(), Size: len(exampleText), Digest: plain[:], GzipDigest: zipped[:]}
}

// publishParts publishes exampleFile as a part in both formats.
func (t *node) publishParts() {
	t.Helper()
	view := env.Must(cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, exampleFile(t)))(t)
	records := firstPart()
	records.Format = governance.ExportCSV
	env.MustDo(t, errors.Join(t.Store.Fills().Complete(t.Context(), []cache.CompletedFill{
		{Page: cache.NewPageRequest(firstPart()), View: &view}, {Page: cache.NewPageRequest(records), View: &view},
	})...))
}

// plain are headers with which the client gets bytes as they were sent, with more of them in
// pairs.
func plain(pairs ...string) http.Header {
	header := http.Header{"Accept-Encoding": {"identity"}}
	for i := 0; i < len(pairs); i += 2 {
		header.Set(pairs[i], pairs[i+1])
	}
	return header
}

// A worker that is slower than the caller waits makes the file for the next request.
func TestAnExportIsMadeAfterItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{partPath, "/v2/daos/a.eth/export", "/v2/daos/a.eth/export/digest"} {
		answered, asked := make(chan int, 1), 0
		go func() {
			defer close(answered) // also where the request ends the test
			answered <- n.get(path).status
		}()
		// A node that does not listen yet asks again.
		for waiting := true; waiting; {
			fills, err := n.Store.Fills().Dequeue(t.Context(), routes.PageKinds(), cache.Newest, func(query.Kind) int { return 1 }, time.Second)
			switch {
			case errors.Is(err, cache.ErrNoFill):
			case err != nil || !fills[0].Kept:
				t.Fatalf("%s: got %+v, %v, want a request that is kept", path, fills, err)
			default:
				if errs := n.Store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: fills[0].Page, Failed: true}}); errs[0] != nil {
					t.Fatal(errs[0])
				}
				asked++
			}
			select {
			case status := <-answered:
				if waiting = false; status != http.StatusServiceUnavailable || asked == 0 {
					t.Errorf("%s: got %d for a page that was not made after %d requests, want 503", path, status, asked)
				}
			case <-time.After(time.Second):
			}
		}
	}
}

func TestManifestListsAllParts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishEverything(2)
	var export governance.BallotExport
	got := n.get(exportPath)
	if err := json.Unmarshal([]byte(got.body), &struct{ Data any }{&export}); err != nil {
		t.Fatalf("%v: %d %s", err, got.status, got.body)
	}
	want := []governance.ExportPart{{Href: partPath, First: 0, Rows: 20_000}, {Href: exportPath + "/c1-x/2", First: 20_000, Rows: 1}}
	if fmt.Sprint(export.Parts) != fmt.Sprint(want) || export.Votes != "20001" {
		t.Errorf("got %+v, want the parts %v", export, want)
	}
}

func TestPartIsSentAsItIsKept(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishParts()
	kept := exampleFile(t)
	for encoding, want := range map[string]struct {
		body, encoding string
		digest         []byte
	}{
		"identity":              {exampleText, "", kept.Digest},
		"br;q=1, gzip;q=0.5":    {string(kept.Gzip), "gzip", kept.GzipDigest},
		"gzip;q=0, identity":    {exampleText, "", kept.Digest},
		"deflate, zstd, br, *":  {string(kept.Gzip), "gzip", kept.GzipDigest},
		"zstd":                  {exampleText, "", kept.Digest},
		"gzip, deflate, br":     {string(kept.Gzip), "gzip", kept.GzipDigest},
		"identity;q=1, *;q=0.1": {exampleText, "", kept.Digest},
	} {
		t.Run(encoding, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				got := n.with(t).ask(method, partPath, plain("Accept-Encoding", encoding))
				body := want.body
				if method == http.MethodHead {
					body = ""
				}
				etag := `"` + base64.RawURLEncoding.EncodeToString(want.digest[:16]) + `"`
				digest := "sha-256=:" + base64.StdEncoding.EncodeToString(want.digest) + ":"
				unencoded := "sha-256=:" + base64.StdEncoding.EncodeToString(kept.Digest) + ":"
				if got.status != http.StatusOK || got.body != body || got.header.Get("Content-Encoding") != want.encoding ||
					got.header.Get("Etag") != etag || got.header.Get("Repr-Digest") != digest || got.header.Get("Unencoded-Digest") != unencoded ||
					got.header.Get("Accept-Ranges") != "bytes" ||
					got.header.Get("Content-Length") != strconv.Itoa(len(want.body)) || got.header.Get("Content-Type") != governance.ExportNDJSON.Media() {
					t.Errorf("%s: got %d, %d bytes, %v, want %d bytes, %s", method, got.status, len(got.body), got.header, len(want.body), etag)
				}
			}
		})
	}
	if got := n.ask(http.MethodGet, csvPath, plain()); got.header.Get("Content-Type") != governance.ExportCSV.Media() || got.body != exampleText {
		t.Errorf("CSV: got %d bytes of %s", len(got.body), got.header.Get("Content-Type"))
	}
}

func TestRangeContinuesADownload(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishParts()
	size := len(exampleText)
	etag := n.ask(http.MethodHead, partPath, plain()).header.Get("Etag")
	for header, selected := range map[string]struct{ first, last int }{
		"bytes=0-":                        {0, size - 1},
		"bytes=0-0":                       {0, 0},
		"bytes=7-9":                       {7, 9},
		"bytes=600000-":                   {600_000, size - 1},
		"bytes=-5":                        {size - 5, size - 1},
		"bytes=-9999999":                  {0, size - 1},
		fmt.Sprintf("bytes=5-%d", size+9): {5, size - 1},
	} {
		t.Run(header, func(t *testing.T) {
			want := exampleText[selected.first : selected.last+1]
			described := fmt.Sprintf("bytes %d-%d/%d", selected.first, selected.last, size)
			for _, condition := range []string{"", etag} {
				headers := plain("Range", header, "Accept-Encoding", "gzip")
				if condition != "" {
					headers.Set("If-Range", condition)
				}
				got := n.with(t).ask(http.MethodGet, partPath, headers)
				if got.status != http.StatusPartialContent || got.body != want || got.header.Get("Content-Range") != described ||
					got.header.Get("Etag") != etag || got.header.Get("Content-Encoding") != "" {
					t.Errorf("got %d, %d bytes, %v, want %d, %s", got.status, len(got.body), got.header, len(want), described)
				}
			}
		})
	}
	for name, headers := range map[string]http.Header{
		"several ranges": plain("Range", "bytes=0-1,5-6"), "another unit": plain("Range", "rows=0-1"), "no number": plain("Range", "bytes=a-"),
		"backwards": plain("Range", "bytes=9-7"), "a sign": plain("Range", "bytes=+1-2"), "nothing": plain("Range", "bytes=-"),
		"another file":   plain("Range", "bytes=5-", "If-Range", `"another"`),
		"a weak name":    plain("Range", "bytes=5-", "If-Range", "W/"+etag),
		"a time":         plain("Range", "bytes=5-", "If-Range", "Wed, 21 Oct 2015 07:28:00 GMT"),
		"a large number": plain("Range", "bytes=99999999999999999999-"),
	} {
		t.Run(name, func(t *testing.T) {
			if got := n.with(t).ask(http.MethodGet, partPath, headers); got.status != http.StatusOK || got.body != exampleText {
				t.Errorf("got %d with %d bytes, want the whole", got.status, len(got.body))
			}
		})
	}
	for _, header := range []string{fmt.Sprintf("bytes=%d-", size), "bytes=-0", fmt.Sprintf("bytes=%d-", math.MaxInt64)} {
		got := n.ask(http.MethodGet, partPath, plain("Range", header))
		n.wantFailure(got, http.StatusRequestedRangeNotSatisfiable, apierror.CodeValidation)
		env.Want(t, fmt.Sprintf("bytes */%d", size), got.header.Get("Content-Range"), header, "Content-Range")
	}
	env.Want(t, http.StatusOK, n.ask(http.MethodHead, partPath, plain("Range", "bytes=5-")).status, "HEAD", "200: Range is of GET")
}

func FuzzParseRange(f *testing.F) {
	for _, header := range []string{"bytes=0-", "bytes=-1", "bytes=5-4", "bytes=1-2,3-4", "", "bytes=9223372036854775807-"} {
		f.Add(header, 100)
	}
	f.Fuzz(func(t *testing.T, header string, size int) {
		if size < 1 {
			return
		}
		first, last, part, err := api.ParseRange(header, size)
		if part && (err != nil || first < 0 || first > last || last >= size) {
			t.Errorf("%q of %d: got %d to %d and %v", header, size, first, last, err)
		}
	})
}

func TestRestOfAPaidPartIsFree(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishParts()
	token := n.admitsTwiceAMonth()
	ask := func(path string, status int, pairs ...string) answer {
		t.Helper()
		got := n.askAs(http.MethodGet, path, plain(append(pairs, access.HeaderToken, token)...))
		if got.status != status {
			t.Fatalf("GET %s with %v: got %d %.200s, want %d", path, pairs, got.status, got.body, status)
		}
		return got
	}
	month := func(got answer) string {
		_, left, _ := strings.Cut(got.header.Get("RateLimit"), `"month";r=`)
		left, _, _ = strings.Cut(left, ";")
		return left
	}
	env.Want(t, "1", month(ask(partPath, http.StatusPartialContent, "Range", "bytes=0-99")), "the first range", "answers left")
	for range 3 {
		env.Want(t, "", month(ask(partPath, http.StatusPartialContent, "Range", "bytes=100-")), "answers left after a range of what is paid for")
	}
	ask(partPath, http.StatusRequestedRangeNotSatisfiable, "Range", "bytes=99999999-")
	env.Want(t, "0", month(ask(csvPath, http.StatusOK)), "another format", "answers left")
	ask(partPath, http.StatusPartialContent, "Range", "bytes=5-")
	ask(partPath, http.StatusTooManyRequests)
}

func TestPaymentBuysAPartAndTheRestOfIt(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.publishParts()
	payment := n.sign(partPath)
	pay := func(status int, pairs ...string) answer {
		t.Helper()
		got := n.askAs(http.MethodGet, partPath, plain(append(pairs, x402.HeaderPayment, payment)...))
		if got.status != status {
			t.Fatalf("with %v: got %d %.300s, want %d", pairs, got.status, got.body, status)
		}
		return got
	}
	first := pay(http.StatusPartialContent, "Range", "bytes=0-9")
	if first.body != exampleText[:10] || first.header.Get(x402.HeaderReceipt) == "" || first.header.Get("Cache-Control") != httpcache.PrivateNoStore {
		t.Errorf("got %q, %v, want ten bytes and a receipt", first.body, first.header)
	}
	env.MustDo(t, cache.Client(n.Store.Conn()).Del(t.Context(), string(cache.NewPageRequest(firstPart()).Key())).Err())
	rest := pay(http.StatusPartialContent, "Range", "bytes=10-", "If-Range", first.header.Get("Etag"))
	if rest.body != exampleText[10:] || rest.header.Get("Content-Type") != governance.ExportNDJSON.Media() {
		t.Errorf("the rest: got %d bytes, %v", len(rest.body), rest.header)
	}
	env.Want(t, string(exampleFile(t).Gzip), pay(http.StatusOK, "Accept-Encoding", "gzip").body, "the whole")
	n.wantCharged(1)
}

func TestPartThatIsGoneNamesTheManifest(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	n.fillPages(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready, Absent: true})
	gone := n.ask(http.MethodGet, exportPath+"/c0-x/1", nil)
	env.WantPart(t, exportPath, string(n.wantFailure(gone, http.StatusGone, apierror.CodeExportGone).Error.Details), "details")
	n.wantFailure(n.ask(http.MethodGet, exportPath+"/c0-x/0", nil), http.StatusBadRequest, apierror.CodeValidation)
	path := exportPath + "/c0-x/2"
	n.wantUnsold(n.till(path), http.StatusGone, apierror.CodeExportGone)
	n.wantCharged(0)
}

// till pays for a path.
func (t *till) till(path string) answer {
	t.Helper()
	return t.askAs(http.MethodGet, path, plain(x402.HeaderPayment, t.sign(path)))
}

func TestEdgeGetsPermissionForARange(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishParts()
	token := n.admitsTwiceAMonth()
	permitted := func(pairs ...string) answer {
		t.Helper()
		return n.askAsEdge(http.MethodGet, partPath, plain(append(pairs, access.HeaderToken, token)...))
	}
	whole := permitted().header.Get("X-Accel-Redirect")
	ranged := permitted("Range", "bytes=5-").header.Get("X-Accel-Redirect")
	if name, isBody := strings.CutPrefix(whole, api.PathBody); !isBody || ranged != api.PathRange+name {
		t.Errorf("got %s and %s, want one name of a body and of a range of it", whole, ranged)
	}
	env.Want(t, whole, permitted("Range", "bytes=5-", "If-Range", `"another"`).header.Get("X-Accel-Redirect"), "another file is continued", "the whole")
	n.wantFailure(permitted("Range", "bytes=99999999-"), http.StatusRequestedRangeNotSatisfiable, apierror.CodeValidation)
}
