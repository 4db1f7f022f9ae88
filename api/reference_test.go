package api_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"pnyx/test/env"
)

// browserTime is how long a browser may take for a few steps.
const browserTime = 3 * time.Minute

// tab is a browser's tab, and what went on in it.
type tab struct {
	context.Context

	mu       sync.Mutex
	asked    []string // addresses
	tokens   []string // sent with requests
	problems []string // errors of scripts, and what the policy refused
}

// openTab starts a browser of its own for a test.
func openTab(t *testing.T, width, height int) *tab {
	t.Helper()
	program := env.Program(t, "chromium", "PNYX_TEST_REQUIRE_BROWSER")
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	opened := &tab{Context: ctx}
	if err := chromedp.Listen(ctx, opened.listen); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	opened.do(t, chromedp.EmulateViewport(int64(width), int64(height)))
	return opened
}

// do does what a person would, one after the other.
func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, browserTime)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, event.Request.URL)
		for name, value := range event.Request.Headers {
			if text, is := value.(string); is && strings.EqualFold(name, "x-service-api-token") {
				b.tokens = append(b.tokens, text)
			}
		}
	case *log.EventEntryAdded:
		b.problems = append(b.problems, event.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, event.ExceptionDetails.Text)
	}
}

// picture keeps what the tab shows, in the folder that PNYX_TEST_PICTURES names.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("PNYX_TEST_PICTURES")
	if dir == "" {
		return
	}
	image, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReferenceSendsRequests opens a route in a browser, sends a request and reads the
// answer.
func TestReferenceSendsRequests(t *testing.T) {
	t.Parallel()
	for name, width := range map[string]int{"desktop": 1280, "phone": 390} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			b := openTab(t, width, 900)
			const (
				list = `[id="operations-DAOs-daos\\.list"]`
				body = list + " .live-responses-table .response-col_description .microlight"
			)
			b.do(t, chromedp.Navigate(n.base+"/docs"), chromedp.WaitVisible(chromedp.CSS(list)))
			b.picture(t, name+"-top")
			b.do(t,
				chromedp.Click(chromedp.CSS(list+" .opblock-summary-control")),
				chromedp.WaitVisible(chromedp.CSS(list+" .execute")),
			)
			b.picture(t, name+"-parameters")
			b.do(t, chromedp.Click(chromedp.CSS(list+" .execute")), chromedp.WaitVisible(chromedp.CSS(body)), chromedp.ScrollIntoView(chromedp.CSS(body)))
			b.picture(t, name+"-answer")
			answer, err := chromedp.Run(b, chromedp.Text(chromedp.CSS(body)))
			if err != nil {
				t.Fatal(err)
			}
			overflow, err := chromedp.Run(b, chromedp.Evaluate[int](
				`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(answer, `"daoId": "uniswap"`) || !strings.Contains(answer, `"hasMore": false`) {
				t.Errorf("the reference shows %s, want the DAOs", answer)
			}
			if overflow > 0 {
				t.Errorf("the page is %d pixels wider than the window", overflow)
			}
			b.wantQuiet(t, n.base)
		})
	}
}

func TestReferenceSendsTheToken(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	b := openTab(t, 1280, 900)
	const route = `[id="operations-Proposals-proposals\\.detail"]`
	b.do(t,
		chromedp.Navigate(n.base+"/docs"),
		chromedp.WaitVisible(chromedp.CSS(".btn.authorize")),
		chromedp.Click(chromedp.CSS(".btn.authorize")),
		chromedp.WaitVisible(chromedp.CSS(".auth-container input")),
		chromedp.SendKeys(chromedp.CSS(".auth-container input"), "pnyx_token"),
	)
	b.picture(t, "desktop-token")
	b.do(t,
		chromedp.Click(chromedp.CSS(".auth-container .btn.authorize")),
		chromedp.WaitVisible(chromedp.CSS(".auth-container .btn.modal-btn")),
		chromedp.Click(chromedp.CSS(".btn-done")),
		chromedp.Click(chromedp.CSS(route+" .opblock-summary-control")),
		chromedp.WaitVisible(chromedp.CSS(route+" .execute")),
		chromedp.Click(chromedp.CSS(route+" .execute")),
		chromedp.WaitVisible(chromedp.CSS(route+" .live-responses-table .response-col_status")),
	)
	b.picture(t, "desktop-paid")
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.tokens) != 1 || b.tokens[0] != "pnyx_token" {
		t.Errorf("got the tokens %q, want the one entered, in one request", b.tokens)
	}
}

// wantQuiet checks that the page asked nobody else for anything, and that nothing
// in it went wrong or was refused by its policy.
func (b *tab) wantQuiet(t *testing.T, base string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, address := range b.asked {
		if !strings.HasPrefix(address, base+"/") && !strings.HasPrefix(address, "data:") {
			t.Errorf("the reference asks %s", address)
		}
	}
	if len(b.problems) > 0 {
		t.Errorf("in the browser: %q", b.problems)
	}
}
