package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"pnyx/explore"
	"pnyx/governance"
	"pnyx/test/browser"
)

// A browser follows the links of the pages, on the demonstration.
func TestLongExplorerLeadsFromADAOToAVoter(t *testing.T) {
	t.Parallel()
	i := startShared(t, nil, "serve", "--demo").ready()
	i.AwaitPublished()
	token := i.clientToken()
	b := browser.Open(t, 1440, 900)
	b.Open(i.URL + explore.Path)
	b.Do(chromedp.Click(chromedp.CSS("tbody a")), chromedp.WaitVisible(chromedp.CSS("#outcomes")), chromedp.SendKeys(chromedp.CSS("#token"), token))
	const read = `!document.querySelector("#main[aria-busy], .box") && `
	b.Until(read + `document.querySelectorAll('.proposals a[href^="/explore/proposals/"]').length > 0`)
	b.Open(i.URL + explore.Path + "/proposals/" + largestVote(t, i))
	const voter = `#top ~ .scroll a[href^="/explore/voters/"]`
	b.Until(read + fmt.Sprintf(`document.querySelectorAll(%q).length === 10`, voter))
	b.Do(chromedp.Click(chromedp.CSS(voter)))
	b.Until(read + `document.querySelectorAll('#votes ~ .scroll a[href^="/explore/proposals/"]').length > 0`)
	b.WantQuiet(i.URL)
}

// largestVote returns the key of the proposal with a quorum that has the most votes.
func largestVote(t *testing.T, i *instance) (largest string) {
	t.Helper()
	var listed []governance.ProposalListItem
	i.Get("/v2/proposals?lifecycleStatus=closed&provider=tally&limit=100", &listed)
	votes := 0
	for _, proposal := range listed {
		var summary governance.VoteSummary
		i.Get("/v2/proposals/"+string(proposal.ProposalKey)+"/votes/summary", &summary)
		if summary.Totals == nil || summary.Quorum == nil {
			continue
		}
		if cast, err := strconv.Atoi(string(*summary.Totals.Votes)); err == nil && cast > votes {
			votes, largest = cast, string(proposal.ProposalKey)
		}
	}
	return largest
}

// TestPicturesOfTheExplorer renews its pictures in docs/pictures, for `make pictures`.
func TestPicturesOfTheExplorer(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("PNYX_TEST_PICTURES")
	if dir == "" {
		t.Skip("PNYX_TEST_PICTURES is not set: it names the folder of the pictures")
	}
	const maxBytes = 150 << 10
	i := startShared(t, nil, "serve", "--demo").ready()
	i.AwaitPublished()
	token := i.clientToken()
	address := i.URL + explore.Path + "/proposals/" + largestVote(t, i)
	b := browser.Open(t, 1100, 1250)
	b.Open(address)
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token))
	b.Until(`!document.querySelector(".box") && !!document.querySelector("svg.curve")`)
	browser.Value[bool](b, `(document.activeElement.blur(), document.querySelector("#token").closest("label").hidden = true)`)
	for _, scheme := range []string{"light", "dark"} {
		b.SetScheme(scheme)
		path := filepath.Join(dir, "explore-"+scheme+".webp")
		if got := b.Picture(path); got > maxBytes {
			t.Errorf("%s has %d bytes, want at most %d", path, got, maxBytes)
		}
	}
}
