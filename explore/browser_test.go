package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/apinode"
	"pnyx/test/browser"
	"pnyx/test/env"
)

// inBrowser lists a page of each kind, and what of it only a token shows.
func inBrowser() map[string]string {
	return map[string]string{
		"/explore":              ".card strong",
		"/explore?name=of+many": "h1",
		"/explore/daos/dao-000": "#voters ~ .scroll td",
		"/explore/proposals/" + string(sampleKey) + "?compare=true": "tr.own",
		"/explore/voters/" + sampleVoter:                            "#votes ~ .scroll td",
		"/explore/proposals/" + string(unknownKey):                  ".trail ~ .soft code",
	}
}

// shows is an expression that is true once the page was read with the token, and has an
// element and no box.
func shows(selector string) string {
	return fmt.Sprintf(`!document.querySelector("#main[aria-busy], .box") && !!document.querySelector(%q)`, selector)
}

// TestLongPagesInABrowser opens each page with a token in a real browser: it fits the window, is
// accessible, obeys its policy, and sends the token nowhere but to its own addresses.
func TestLongPagesInABrowser(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	for _, width := range []int{390, 820, 1440} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			b := browser.Open(t, width, 900)
			b.Open(n.Base + "/explore")
			b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token))
			for path, selector := range inBrowser() {
				b.Open(n.Base + path)
				b.Until(shows(selector))
				browser.Value[bool](b, `document.querySelectorAll("details").forEach((one) => { one.open = true; }) ?? true`)
				b.WantNoOverflow()
				for _, scheme := range []string{"light", "dark"} {
					b.SetScheme(scheme)
					b.WantAccessible()
				}
			}
			for _, request := range b.Requests() {
				// On a busy machine a token that is not typed to its end is sent, too.
				ours := strings.HasPrefix(request.URL, n.Base+"/explore") && strings.HasPrefix(token, request.Token)
				if strings.Contains(request.URL, token) || request.Token != "" && !ours {
					t.Errorf("the token was sent to %s", request.URL)
				}
			}
			b.WantQuiet(n.Base, "status of 404")
		})
	}
}

// TestLongTokenOpensAndClosesThePage enters a token and removes it.
func TestLongTokenOpensAndClosesThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	b := browser.Open(t, 1440, 900)
	b.Open(n.Base + "/explore/voters/" + sampleVoter)
	b.Until(`document.querySelectorAll(".box").length === 2 && !document.querySelector("#token").closest("label").hidden`)
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token))
	b.Until(shows("#votes ~ .scroll td"))
	env.Want(t, n.Base+"/explore/voters/"+sampleVoter+"{}", browser.Value[string](b, "location.href + document.cookie + JSON.stringify(localStorage)"), "the address alone")
	b.Do(chromedp.Click(chromedp.CSS("#votes ~ .pages a")))
	b.Until(`document.querySelector("#votes ~ .scroll tbody")?.rows.length === 20 && location.search.startsWith("?cursor=")`)
	b.Do(chromedp.Clear(chromedp.CSS("#token")), chromedp.SendKeys(chromedp.CSS("#token"), "x"))
	b.Until(`document.querySelectorAll(".box").length === 1 && document.querySelector(".box").innerText.includes("UNAUTHORIZED")`)
	b.WantQuiet(n.Base)
}

func TestLongFreePartsNeedNoScript(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := browser.Open(t, 390, 900)
	b.DisableScripts()
	b.Open(n.Base + "/explore/daos/dao-000")
	for _, want := range []string{"98,765,432.1T", "passed 12,000 97.2%", "endpoint: part of a partner's plan"} {
		env.WantPart(t, want, strings.ReplaceAll(browser.Value[string](b, "document.body.innerText"), "\n", " "))
	}
	b.WantNoOverflow()
	b.Open(n.Base + "/explore")
	b.Do(chromedp.SendKeys(chromedp.CSS("#name"), "name 77"), chromedp.Submit(chromedp.CSS("form")))
	b.Until(`location.search === "?name=name+77" && document.querySelectorAll("tbody tr").length === 1`)
	b.WantQuiet(n.Base)
}

func TestLongALinkMayBringATokenThatNoServerSees(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	b := browser.Open(t, 820, 900)
	b.Open(n.Base + "/explore/voters/" + sampleVoter + "#token=" + token)
	b.Until(shows("#votes ~ .scroll td"))
	env.Want(t, token, browser.Value[string](b, "location.hash + document.querySelector('#token').value"), "the fragment and the box")
	for _, request := range b.Requests() {
		if strings.Contains(request.URL, token) {
			t.Errorf("the token is in the address %s", request.URL)
		}
	}
	b.WantQuiet(n.Base)
}

// TestLongDossierInABrowser reads the dossier of a proposal on a phone, in both schemes, and on paper: what it does, what is
// found, who decided, what is not known, and on what all of it rests.
func TestLongDossierInABrowser(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	b := browser.Open(t, 390, 900)
	b.Open(n.Base + "/explore")
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token))
	b.Open(n.Base + "/explore/proposals/" + string(sampleKey))
	b.Until(shows("#findings"))
	env.Want(t, "/docs#proposals.evidence", browser.Value[string](b, `document.querySelector("a[data-read]").getAttribute("href")`), "without the script the link leads to")
	b.Do(chromedp.Click(chromedp.CSS("a[data-read]")))
	b.Until(`document.querySelector(".dossier > pre")?.innerText.startsWith('{"data":{"proposal":{"proposalKey":"` + string(sampleKey) + `"')`)
	for _, show := range []func(){func() { b.SetScheme("light") }, func() { b.SetScheme("dark") }, b.SetPrint} {
		show()
		got := strings.Join(strings.Fields(browser.Value[string](b, `document.querySelector(".dossier").innerText`)), " ")
		for _, want := range []string{
			"It moves 25000.000001 USDC to 0x00000000000000000000000000000000000000b2 and changes 1 permission.",
			"25,000.000001 USDC 0x00000000000000000000000000000000000000b2 eip155:1",
			"granted to 0x00000000000000000000000000000000000000c3 on 0x00000000000000000000000000000000000000d4: grantRole(bytes32,address)",
			"1.1.2.1 transfer(address,uint256) to 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48 (USDC) on eip155:1 to: 0x00000000000000000000000000000000000000b2 amount: 1 The text does not state: amount.",
			"high 0.000001 USDC moves, which the text does not state.",
			"Runner-up Against Margin 60% Quorum 80 of 50, reached; met by 0xc",
			"Largest voter 29% Top 5, top 10 100%, 100% Voters with more than half 2 Gini coefficient 0.07",
			"Simulation success as of block 900",
			"votes: route /v2/proposals/p1_own/votes",
		} {
			env.WantPart(t, want, got)
		}
		b.WantNoOverflow()
	}
	if browser.Value[bool](b, `[...document.querySelectorAll(".masthead, .trail, .screen")].some((one) => one.checkVisibility())`) {
		t.Error("paper shows what is for screens")
	}
	b.WantQuiet(n.Base)
}

// TestLongADossierShowsOnceItIsComputed on a page that was opened before.
func TestLongADossierShowsOnceItIsComputed(t *testing.T) {
	t.Parallel()
	dossiers := []query.Kind{query.KindDossier}
	n := startNode(t, apinode.Settings{Sample: apinode.Sample{
		Kinds: slices.DeleteFunc(sampleKinds(), func(kind query.Kind) bool { return kind == query.KindDossier }),
	}})
	b := browser.Open(t, 820, 900)
	b.Open(n.Base + "/explore/proposals/" + string(sampleKey) + "#token=" + n.Admit(ample(), access.V2All))
	b.Until(shows("[data-pending]"))
	asked := env.Must(n.Store.Fills().Dequeue(t.Context(), dossiers, cache.Oldest, func(query.Kind) int { return 1 }, 10*time.Second))(t)
	payload, _, err := samplePage(asked[0].Page)
	env.MustDo(t, err)
	head := cache.View{Revision: 1, DataAsOf: apinode.AsOf, Readiness: governance.Ready, FreshUntil: new(governance.TimestampOf(time.Now().Add(time.Hour)))}
	made := env.Must(cache.NewView(head, payload))(t)
	env.MustDo(t, errors.Join(n.Store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: asked[0].Page, View: &made}})...))
	b.Until(shows("#findings"))
	b.WantQuiet(n.Base)
}
