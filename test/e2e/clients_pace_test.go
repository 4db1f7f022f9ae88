package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	pnyx "pnyx/clients"
	"pnyx/reference/client"
	"pnyx/test/env"
)

// Each client reads with ten threads and a token that allows five and ten requests at once.
func TestLongClientsAreNotRefused(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, nil, "serve", "--demo").ready()
	i.AwaitPublished()
	var rows []struct{ ProposalKey string }
	i.Get("/v2/proposals?limit=1", &rows)
	var detail struct{ Title string }
	i.Get("/v2/proposals/"+rows[0].ProposalKey, &detail)
	want := strings.Repeat(detail.Title+" "+rows[0].ProposalKey+"\n", 30)
	for _, language := range client.Languages() {
		t.Run(string(language), func(t *testing.T) {
			requireClient(t, language)
			token := issueToken(t, i.Environ, "--name", string(language), "--plan", "custom", "--scopes", "v2:paid:*",
				"--limits", "1000,600,10,300,5").Token
			i.awaitToken(token)
			env.Want(t, want, paceWith(t, language, i.URL, token, rows[0].ProposalKey))
			for _, bucket := range []string{"standard", "detail"} {
				series := fmt.Sprintf(`pnyx_ratelimit_decisions_total{bucket=%q,outcome="%%s",plan="custom"}`, bucket)
				env.Want(t, 0, i.Metric(fmt.Sprintf(series, "bucket_empty")), bucket, "refusals")
				if allowed := i.Metric(fmt.Sprintf(series, "allowed")); allowed < 30 {
					t.Errorf("%s: got %v requests, want 30", bucket, allowed)
				}
			}
		})
	}
}

// paceWith reads a proposal and the first row of the list thirty times, and returns a line for each.
func paceWith(t *testing.T, language client.Language, url, token, key string) string {
	t.Helper()
	if language != client.Go {
		return newPrograms(t, language).runOne(t, "testdata", "pace", token, url, key)
	}
	c, lines := pnyx.New(url, pnyx.WithToken(token)), make(chan string, 30)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 3 {
				detail, err := c.Proposal(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				page, err := c.ProposalsPage(t.Context(), &pnyx.ProposalsParams{Limit: 1})
				if err != nil {
					t.Error(err)
					return
				}
				lines <- fmt.Sprintln(*detail.Data.Title, page.Data[0].ProposalKey)
			}
		})
	}
	group.Wait()
	close(lines)
	var all strings.Builder
	for line := range lines {
		all.WriteString(line)
	}
	return all.String()
}
