package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pnyx/access"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/ratelimit"
	"pnyx/test/browser"
	"pnyx/test/env"
)

// Bounds of what a browser loads for the reference, in bytes.
const (
	maxReferenceScript  = 30 << 10
	maxReferenceZipped  = 150 << 10
	referenceWidthDesk  = 1440
	referenceWidthPhone = 390
)

// referenceWidths are the widths at which the page has to look well.
func referenceWidths() []int { return []int{referenceWidthPhone, 820, referenceWidthDesk} }

// css selects what is inside a route of the reference.
func css(routeID, selector string) string {
	return fmt.Sprintf(`[id="%s"] %s`, routeID, selector)
}

// openReference opens the reference of a node, and waits for its script.
func openReference(t *testing.T, n *node, width int) *browser.Tab {
	t.Helper()
	b := browser.Open(t, width, 900)
	b.Open(n.Base + "/docs")
	b.Until(`document.documentElement.classList.contains("scripted")`)
	return b
}

// sendFrom presses Send of a route, and returns the status of the answer.
func sendFrom(b *browser.Tab, routeID string) string {
	b.Do(chromedp.Click(chromedp.CSS(css(routeID, ".send button"))), chromedp.WaitVisible(chromedp.CSS(css(routeID, ".result .status"))))
	return textOf(b, css(routeID, ".result .status"))
}

// textOf returns the text that the first element of a selector shows.
func textOf(b *browser.Tab, selector string) string {
	return browser.Value[string](b, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

func TestLongReferenceExplainsErrorsAndTurnsPages(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthDesk)
	limit := chromedp.CSS(`[id="daos.list-limit-value"]`)
	b.Do(chromedp.SendKeys(limit, "1"))
	if got := sendFrom(b, "daos.list"); got != "200" {
		t.Fatalf("got the status %s of one row, want 200", got)
	}
	first := textOf(b, css("daos.list", ".tree"))
	b.Do(chromedp.Click(chromedp.CSS(css("daos.list", ".next"))))
	b.Until(fmt.Sprintf(`!document.querySelector(%q)?.innerText.includes("hasMore: true") && !!document.querySelector(%q)`,
		css("daos.list", ".tree"), css("daos.list", ".tree")))
	if second := textOf(b, css("daos.list", ".tree")); second == first || !strings.Contains(second, "daoId") {
		t.Errorf("the next page shows %s, want another row than %s", second, first)
	}
	b.Do(chromedp.SendKeys(limit, "00000"), chromedp.Click(chromedp.CSS(css("daos.list", ".send button"))),
		chromedp.WaitVisible(chromedp.CSS(css("daos.list", ".status.bad"))))
	env.WantPart(t, "limit must be an integer from 1 to", textOf(b, css("daos.list", ".result")), "the error shows", "what is allowed")
	b.Do(chromedp.Click(chromedp.CSS(css("daos.list", `.result a[href="#VALIDATION_ERROR"]`))))
	env.WantPart(t, "What to do", browser.Value[string](b, `document.querySelector(":target").innerText`), "the link leads", "the error's description")
	b.WantQuiet(n.Base, "status of 400")
}

func TestLongReferenceShowsNumbersToTheLastDigit(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.analyze()
	token := n.admitsOne(ratelimit.Business, access.V2All)
	b := openReference(t, n, referenceWidthDesk)
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token), chromedp.SetValue(chromedp.CSS(`[id="proposals.evidence-proposalKey-value"]`), string(countedKey)))
	if got := sendFrom(b, "proposals.evidence"); got != "200" {
		t.Fatalf("got the status %s, want 200", got)
	}
	// The dossier, its analyses, the first of them, and so on: each shows what it has when it is opened.
	b.Until(fmt.Sprintf(`[...document.querySelectorAll(%q)].every(closed => closed.click() ?? true) &&
		document.querySelector(%q).innerText.includes("1234567890.123456789012345678")`,
		css("proposals.evidence", ".tree details:not([open]) > summary"), css("proposals.evidence", ".tree")))
}

func TestLongReferenceSendsTheTokenToThisServerAlone(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthDesk)
	env.Want(t, "402", sendFrom(b, "proposals.detail"), "without a token", "the status")
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), "pnyx_token"))
	env.Want(t, "401", sendFrom(b, "proposals.detail"), "with an unknown token", "the status")
	b.Open(n.Base + "/docs")
	env.Want(t, "pnyx_token", browser.Value[string](b, `document.querySelector("#token").value`), "after a reload")
	for _, request := range b.Requests() {
		if strings.Contains(request.URL, "pnyx_token") {
			t.Errorf("the token is in the address %s", request.URL)
		}
		if paid := strings.HasPrefix(request.URL, n.Base+"/v2/proposals/"); request.Token != "" && (!paid || request.Token != "pnyx_token") {
			t.Errorf("%s was sent the token %q", request.URL, request.Token)
		}
	}
	b.WantQuiet(n.Base, "status of 402", "status of 401")
}

func TestLongReferenceSearchFindsWhatItDescribes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthDesk)
	for _, test := range []struct{ name, text, found, visited string }{
		{"a route by its title", "list ballots", "", ""},
		{"a route by its path", "votes/summary", "Get a proposal's result", "proposals.vote-summary"},
		{"a parameter", "lifecycleStatus", "lifecycleStatus", "proposals.list-lifecycleStatus"},
		{"a field", "totals.votingPower", "totals.votingPower", "proposals.vote-summary"},
		{"an error", "quota_exceeded", "QUOTA_EXCEEDED", "QUOTA_EXCEEDED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.Do(chromedp.Click(chromedp.CSS("#title")), chromedp.KeyEvent("/"))
			if got := browser.Value[string](b, `document.activeElement.id`); got != "search" {
				t.Fatalf("after a slash, %q has the focus, want the search", got)
			}
			// DevTools sends the character apart from the key, as no keyboard does.
			browser.Value[bool](b, `(document.activeElement.value = "", true)`)
			b.Do(chromedp.KeyEvent(test.text))
			if test.found == "" {
				env.Want(t, "0 found", browser.Value[string](b, `document.querySelector("#found-count").textContent`), "nothing")
				return
			}
			if got := textOf(b, "#found a"); !strings.HasPrefix(got, test.found) {
				t.Errorf("got %q first, want %s", got, test.found)
			}
			b.Do(chromedp.KeyEvent("\r"))
			env.Want(t, "#"+test.visited, browser.Value[string](b, `location.hash`), "visited")
			b.Until(`document.activeElement.checkVisibility({contentVisibilityAuto: true}) && document.activeElement.matches(".hit")`)
		})
	}
}

func TestLongReferenceCopiesExamples(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthDesk)
	browser.Value[bool](b, `Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { window.copied = text; }}}) && true`)
	for language, want := range map[string]string{
		"curl":       `curl '` + n.Base + `/v2/daos/uniswap'`,
		"typescript": `new Pnyx(`,
		"python":     `import`,
		"go":         `package main`,
		"mcp":        `"name": "get_dao"`,
	} {
		pane := css("daos.detail", `[data-language="`+language+`"] `)
		b.Do(chromedp.Click(chromedp.CSS(css("daos.detail", `.tabs label:has([value="`+language+`"])`))), chromedp.WaitVisible(chromedp.CSS(pane+"pre")))
		b.Do(chromedp.Click(chromedp.CSS(pane + "button")))
		env.WantPart(t, want, browser.Value[string](b, `window.copied`), language, "copied", "it to have")
		if shown := browser.Value[bool](b, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, css("daos.list", `[data-language="`+language+`"]`))); !shown {
			t.Errorf("%s is chosen for one route, and not for the others", language)
		}
	}
	b.Do(chromedp.Click(chromedp.CSS(css("daos.detail", "[data-copy-page]"))))
	b.Until(`window.copied.startsWith("# Get a DAO")`)
	b.Do(chromedp.SetValue(chromedp.CSS(`[id="daos.detail-daoId-value"]`), "o'neill/"), chromedp.SendKeys(chromedp.CSS(`[id="daos.detail-daoId-value"]`), "dao"))
	if got := browser.Value[string](b, fmt.Sprintf(`document.querySelector(%q).textContent`, css("daos.detail", `[data-language="curl"] code`))); got != `curl '`+n.Base+`/v2/daos/o%27neill%2Fdao'` {
		t.Errorf("the command of another DAO is %s", got)
	}
	b.WantQuiet(n.Base)
}

func TestLongReferenceMenuFollowsTheScroll(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthDesk)
	for _, id := range []string{"voters.votes", "daos.list", "errors"} {
		browser.Value[bool](b, fmt.Sprintf(`(document.getElementById(%q).scrollIntoView(), true)`, id))
		b.Until(fmt.Sprintf(`document.querySelector(".side [aria-current]")?.hash === "#%s"`, id))
		if !browser.Value[bool](b, `(({top, bottom}) => top >= 0 && bottom <= innerHeight)(document.querySelector(".side [aria-current]").getBoundingClientRect())`) {
			t.Errorf("the menu does not show %s, which the page does", id)
		}
	}
}

func TestLongReferenceIsCompleteWithoutScript(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, width := range referenceWidths() {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			b := browser.Open(t, width, 900)
			b.DisableScripts()
			b.Open(n.Base + "/docs")
			page := n.get("/docs").body
			for _, route := range routes.All() {
				for _, want := range []string{`id="` + route.ID + `"`, `href="#` + route.ID + `"`, route.Path, "/docs/" + route.ID + ".md"} {
					env.WantPart(t, want, page, "the page", route.ID)
				}
				for _, param := range route.Params {
					env.WantPart(t, `id="`+route.ID+`-`+param.Name+`"`, page, "the page")
				}
			}
			b.Do(chromedp.WaitVisible(chromedp.CSS(css("daos.detail", `[data-language="curl"]`))))
			b.Do(chromedp.Click(chromedp.CSS(css("daos.detail", `.tabs label:has([value="python"])`))),
				chromedp.WaitVisible(chromedp.CSS(css("daos.detail", `[data-language="python"]`))))
			b.Do(chromedp.WaitNotVisible(chromedp.CSS("#token")), chromedp.WaitNotVisible(chromedp.CSS(css("daos.detail", ".send button"))))
			b.WantQuiet(n.Base)
		})
	}
}

func TestLongReferenceIsAccessible(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, width := range referenceWidths() {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			b := openReference(t, n, width)
			env.Want(t, "200", sendFrom(b, "daos.list"), "the status")
			if got := textOf(b, css("daos.list", ".tree")); !strings.Contains(got, `daoId: "uniswap"`) || !strings.Contains(got, "hasMore: false") {
				t.Errorf("the answer shows %s, want the DAOs", got)
			}
			headers := textOf(b, css("daos.list", ".headers"))
			for _, name := range []string{"ETag", "X-Request-Id", "Cache-Status"} {
				env.WantPart(t, name, headers, "the headers", "lack")
			}
			sendFrom(b, "proposals.detail")
			b.Do(chromedp.SendKeys(chromedp.CSS("#search"), "votes"))
			browser.Value[bool](b, `document.querySelectorAll("details").forEach((box) => { box.open = true; }) ?? true`)
			for _, scheme := range []string{"light", "dark"} {
				b.SetScheme(scheme)
				b.WantAccessible()
				b.WantNoOverflow()
			}
			b.WantQuiet(n.Base, "status of 402")
		})
	}
}

func TestLongReferencePrintsWhatIsFoldedOnTheScreen(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthPhone)
	for _, place := range []string{"screen", "paper"} {
		if place == "paper" {
			b.SetPrint()
		}
		for selector, want := range map[string]bool{
			css("daos.list", ".field"): place == "paper", css("proposals.list", ".more .param"): place == "paper", "#token": place == "screen",
		} {
			b.Until(fmt.Sprintf(`document.querySelector(%q).checkVisibility({contentVisibilityAuto: true}) === %t`, selector, want))
		}
	}
	b.WantNoOverflow()
}

func TestLongGuidesSplitNoWordOfAHeader(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := browser.Open(t, referenceWidthPhone, 900)
	for path, headers := range map[string]int{"/docs/guides/rules": 0, "/docs/guides/partners": 3, "/docs/guides/analysts": 2} {
		b.Open(n.Base + path)
		b.Until(fmt.Sprintf(`location.pathname === %q && document.readyState === "complete" && document.querySelectorAll(".scroll th").length >= %d`, path, headers))
		if split := browser.Value[string](b, `[...document.querySelectorAll("th")].filter((th) => /^\S+$/.test(th.innerText) &&
			(() => { const all = document.createRange(); all.selectNodeContents(th); return new Set([...all.getClientRects()].map((r) => r.top)).size > 1; })()).map((th) => th.innerText).join()`); split != "" {
			t.Errorf("%s splits the headers %s", path, split)
		}
		b.WantNoOverflow()
		b.WantAccessible()
	}
}

func TestLongReferenceIsSmall(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openReference(t, n, referenceWidthDesk)
	script, zipped := 0, 0
	for _, request := range b.Requests() {
		path, own := strings.CutPrefix(request.URL, n.Base)
		if !own {
			continue
		}
		body := n.get(path).body
		if strings.HasSuffix(path, ".js") {
			script += len(body)
		}
		var small bytes.Buffer
		zipper := gzip.NewWriter(&small)
		if _, err := zipper.Write([]byte(body)); err != nil || zipper.Close() != nil {
			t.Fatal(err)
		}
		zipped += small.Len()
	}
	if script == 0 || script > maxReferenceScript {
		t.Errorf("got %d bytes of script, want at most %d", script, maxReferenceScript)
	}
	if got := b.Received(); got > maxReferenceZipped || zipped > maxReferenceZipped {
		t.Errorf("got %d bytes over the wire, %d of them zipped bodies, want at most %d", got, zipped, maxReferenceZipped)
	}
	t.Logf("%d bytes over the wire, %d of script; first paint after %.0f ms", b.Received(), script,
		browser.Value[float64](b, `performance.getEntriesByName("first-paint")[0]?.startTime ?? 0`))
}

func TestReferenceHasExamplesOfItsNode(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, want := range []string{"/v2/daos/uniswap/voters", "/v2/proposals/" + string(countedKey) + "/votes", "/v2/voters/0xwhale", "from=2024-01-01&amp;to=2024-03-31"} {
		if got := n.get("/docs"); !strings.Contains(got.body, want) || got.header.Get("Cache-Control") == "no-store" {
			t.Errorf("the reference lacks %s, or is not kept: %s", want, got.header.Get("Cache-Control"))
		}
	}
	env.WantPart(t, string(countedKey), n.get("/docs/proposals.votes.md").body, "the page of a route lacks the proposal")
}

func TestReferenceWithoutDataIsNotKept(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{unpublished: true})
	got := n.get("/docs")
	if got.header.Get("Cache-Control") != "no-store" || !strings.Contains(got.body, "has not read its data yet") {
		t.Errorf("got %q, want a page that caches do not keep and that says why", got.header.Get("Cache-Control"))
	}
	n.publishSamples()
	n.waitWatched()
	if got := n.get("/docs"); got.header.Get("Cache-Control") == "no-store" || !strings.Contains(got.body, "/v2/voters/0xwhale") {
		t.Errorf("after a publication: got %q, want a page with examples", got.header.Get("Cache-Control"))
	}
}

// publishExamples publishes the pages that examples are found in.
func (t *node) publishExamples() {
	t.Helper()
	title := "Deploy \"v4\""
	t.writePage(query.Voters{DAOID: "uniswap", Paging: firstPage[query.VoterPosition]()}, []governance.DAOVoter{{Rank: 1, VoterIdentity: "0xwhale"}})
	t.writePage(query.VoterVotes{Voter: "0xwhale", DAOID: "uniswap", Paging: firstPage[query.VoterVotePosition]()}, []governance.VoterVote{{
		Proposal: governance.VotedProposal{ProposalKey: countedKey, Title: &title}, VotedAt: ago(60),
	}})
	t.writePage(query.Topics{DAOID: "uniswap", Order: query.TopicsByUpdate, Paging: firstPage[query.TopicPosition]()}, []governance.ForumTopic{{TopicKey: talkKey}})
}
