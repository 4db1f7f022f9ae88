// Package browser runs a real Chromium for tests of pages.
package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"pnyx/test/check"
	"pnyx/test/env"
)

// patience is how long a browser may take for a few steps on a busy machine.
const patience = 3 * time.Minute

// Tab is a browser with one tab, and what went on in it. Its context ends with the test.
type Tab struct {
	context.Context
	t *testing.T

	mu       check.Mutex
	requests []Request
	bytes    map[network.RequestID]int
	problems []string // errors of scripts, and what a policy refused
}

// Request is a request that a page sent.
type Request struct {
	// URL is its address, and Token its header x-service-api-token; empty for none.
	URL, Token string
}

// Open starts a browser of its own for a test, whose window has a size in pixels.
func Open(t *testing.T, width, height int) *Tab {
	t.Helper()
	program := env.Program(t, "chromium", "PNYX_TEST_REQUIRE_BROWSER")
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &Tab{Context: ctx, t: t, bytes: map[network.RequestID]int{}}
	env.MustDo(t, chromedp.Listen(ctx, b.listen))
	env.Must(chromedp.Call(ctx, log.Enable, cdp.Empty{}))(t)
	env.Must(chromedp.Call(ctx, network.Enable, network.EnableParams{}))(t)
	b.Do(chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

// Do does what a person would, one after the other.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	env.MustDo(b.t, chromedp.Do(ctx, steps...))
}

// Open shows the page at an address, once it has loaded.
func (b *Tab) Open(url string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(url))
}

// Value returns the value of an expression of JavaScript; a promise is waited for.
func Value[T any](b *Tab, expression string) T {
	b.t.Helper()
	return env.Must(evaluate[T](b, expression))(b.t)
}

func evaluate[T any](b *Tab, expression string) (value T, err error) {
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	if value, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise)); err != nil {
		return value, fmt.Errorf("%s: %w", expression, err)
	}
	return value, nil
}

// Until waits until an expression of JavaScript is true, also of a page that is opened meanwhile.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	env.Until(b.t, func() error {
		is, err := evaluate[bool](b, expression)
		if err == nil && !is {
			err = fmt.Errorf("%s is not true", expression)
		}
		return err
	})
}

// SetScheme has the browser prefer "light" or "dark".
func (b *Tab) SetScheme(scheme string) {
	b.t.Helper()
	env.Must(chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))(b.t)
	b.Until(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, scheme))
}

// SetPrint has the page look as on paper.
func (b *Tab) SetPrint() {
	b.t.Helper()
	env.Must(chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))(b.t)
}

// DisableScripts has pages that are opened from now on run no script.
func (b *Tab) DisableScripts() {
	b.t.Helper()
	env.Must(chromedp.Call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))(b.t)
}

// Requests returns what pages have requested so far.
func (b *Tab) Requests() []Request {
	return check.Locked(&b.mu, func() []Request { return slices.Clone(b.requests) })
}

// Received returns how many bytes have come in so far, with headers, as they were encoded.
func (b *Tab) Received() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := 0
	for _, length := range b.bytes {
		sum += length
	}
	return sum
}

func (b *Tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		request := Request{URL: event.Request.URL}
		for name, value := range event.Request.Headers {
			if text, is := value.(string); is && strings.EqualFold(name, "x-service-api-token") {
				request.Token = text
			}
		}
		b.requests = append(b.requests, request)
	case *network.EventLoadingFinished:
		b.bytes[event.RequestID] = int(event.EncodedDataLength)
	case *log.EventEntryAdded:
		b.problems = append(b.problems, event.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, event.ExceptionDetails.Text)
	}
}

// WantQuiet checks that pages asked no other server than base, and that nothing in them went wrong or was refused
// by their policy, but for what is expected of a request of the test itself.
func (b *Tab) WantQuiet(base string, expected ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range b.requests {
		if !strings.HasPrefix(request.URL, base+"/") && !strings.HasPrefix(request.URL, "data:") {
			b.t.Errorf("the page asks %s", request.URL)
		}
	}
	for _, problem := range b.problems {
		if !slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(problem, part) }) {
			b.t.Errorf("in the browser: %s", problem)
		}
	}
}

// minPasses is how many rules of axe-core hold for any page in the shell.
const minPasses = 15

// WantAccessible checks the page with axe-core, or skips the test where `make npm` has not installed it.
func (b *Tab) WantAccessible() {
	b.t.Helper()
	script, err := os.ReadFile(filepath.Join(env.Root(b.t), "reference/npm/node_modules/axe-core/axe.min.js"))
	if err != nil {
		b.t.Skipf("no axe-core: make npm (%v)", err)
	}
	Value[bool](b, string(script)+"; true")
	type result struct {
		// Passes is the number of rules that hold, and Violations are what breaks others.
		Passes     int
		Violations []string
	}
	found := Value[result](b, `axe.run().then((found) => ({passes: found.passes.length, violations: found.violations.flatMap((rule) =>
		rule.nodes.map((node) => rule.id + ": " + node.target.join(" ") + ": " + node.failureSummary))}))`)
	if found.Passes < minPasses {
		b.t.Errorf("got %d rules of axe-core that hold, want at least %d: was there a page?", found.Passes, minPasses)
	}
	for _, violation := range found.Violations {
		b.t.Error(violation)
	}
}

// WantNoOverflow checks that the page is not wider than the window.
func (b *Tab) WantNoOverflow() {
	b.t.Helper()
	if over := Value[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		b.t.Errorf("the page is %d pixels wider than the window", over)
	}
}

// Picture writes what the tab shows to a file, as WebP, and returns its size in bytes.
func (b *Tab) Picture(path string) (size int) {
	b.t.Helper()
	quality := int64(80)
	shot := env.Must(chromedp.Call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatWebp, Quality: &quality,
	}))(b.t)
	env.MustDo(b.t, os.WriteFile(path, shot.Data, 0o600))
	return len(shot.Data)
}
