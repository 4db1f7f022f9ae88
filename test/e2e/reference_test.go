package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/mcp"
	"pnyx/test/browser"
	"pnyx/test/env"
)

// awaitReference waits until a reference has examples, and returns a new token that opens every route.
func awaitReference(t *testing.T, i *instance) (token string) {
	t.Helper()
	i.AwaitPublished()
	token = i.clientToken() // more calls than a bucket of a plan allows at once
	env.Until(t, func() error {
		status, body, err := env.Fetch(i.URL + api.PathDocs)
		if err == nil && (status != http.StatusOK || strings.Contains(string(body), "has not read its data yet")) {
			err = errors.New("the reference has no examples yet")
		}
		return err
	})
	return token
}

// openReference opens the reference in a browser and enters a token.
func openReference(t *testing.T, i *instance, width, height int, token string) *browser.Tab {
	t.Helper()
	b := browser.Open(t, width, height)
	b.Open(i.URL + api.PathDocs)
	b.Until(`document.documentElement.classList.contains("scripted")`)
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token))
	return b
}

// send presses Send of a route and returns the status of the answer.
func send(b *browser.Tab, routeID string) string {
	route := fmt.Sprintf(`[id="%s"] `, routeID)
	b.Do(chromedp.Click(chromedp.CSS(route+".send button")), chromedp.WaitVisible(chromedp.CSS(route+".result .badge")))
	return browser.Value[string](b, fmt.Sprintf("document.querySelector(%q).innerText", route+".result .badge"))
}

// wantExamplesAnswer clicks Send of every route, as it is filled in.
func wantExamplesAnswer(t *testing.T, i *instance) {
	t.Helper()
	token := awaitReference(t, i)
	b := openReference(t, i, 1440, 900, token)
	for _, route := range routes.All() {
		if route.Media != nil {
			continue // files are for programs: there is no Send, and TestExport reads them
		}
		if name, _ := mcp.ExampleCall(route.ID, nil); name != "" {
			call := browser.Value[string](b, fmt.Sprintf("document.querySelector(%q).textContent", fmt.Sprintf(`[id="%s"] [data-language="mcp"] code`, route.ID)))
			env.Until(t, func() error { return callTool(t, i, call, token) })
		}
		env.Until(t, func() error {
			switch got := send(b, route.ID); got {
			case "200":
			case "503": // a machine as busy as that is asked again
				return errors.New(got)
			default:
				t.Errorf("%s: got the status %s, want 200", route.ID, got)
			}
			return nil
		})
	}
	for _, list := range []string{"proposals.votes", "events.list"} {
		if !browser.Value[bool](b, fmt.Sprintf(`document.querySelector('[id="%s"] .tree').innerText.includes("data: [")`, list)) {
			t.Errorf("%s: the example has no rows", list)
		}
	}
	for _, request := range b.Requests() {
		if request.Token != "" && !strings.HasPrefix(request.URL, i.URL+api.PathPrefix) {
			t.Errorf("the token was sent to %s", request.URL)
		}
	}
	b.WantQuiet(i.URL, "status of 503")
}

// callTool sends a message to the tools, and returns an error unless the result is data.
func callTool(t *testing.T, i *instance, message, token string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.URL+mcp.Path, strings.NewReader(message))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-service-api-token", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Result struct {
			// StructuredContent has either data or an error.
			StructuredContent struct{ Data json.RawMessage }
		}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Result.StructuredContent.Data == nil {
		return fmt.Errorf("%s: got %d %s, want data", message, response.StatusCode, body)
	}
	return nil
}

func TestLongEveryExampleOfTheReferenceAnswers(t *testing.T) {
	t.Parallel()
	wantExamplesAnswer(t, startShared(t, nil, "serve", "--demo").ready())
}
