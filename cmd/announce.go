package cmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"pnyx/api"
	"pnyx/cache"
)

// announceEvery is how often the first publication is looked for.
const announceEvery = 100 * time.Millisecond

// announceFor is how long it is waited for before addresses are printed anyway.
const announceFor = 30 * time.Second

// announce waits for the first publication and says what can be tried, with tokens
// if there are some to try.
func (n *node) announce(ctx context.Context, out io.Writer, served *api.API, store *cache.Store, tokens []demoToken) {
	ctx, cancel := context.WithTimeout(ctx, announceFor)
	defer cancel()
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	for served.Ready(ctx) != nil {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out, "The first publication is still under way.")
			n.printAddresses(out)
			return
		case <-ticker.C:
		}
	}
	n.printAddresses(out)
	page, err := store.DAOPage(ctx, cache.DAOFilter{}, "", 1)
	if err != nil || len(page.Items) == 0 {
		fmt.Fprintf(out, "The warehouse is empty. Fill it from another terminal:\n\n  bin/pnyx import PATH\n\n")
		return
	}
	base := "http://" + n.cfg.API.Listen
	fmt.Fprintf(out, "Try:\n\n  curl -s '%s/v2/daos?limit=2'\n  curl -s '%s/v2/daos/%s'\n  curl -s '%s/v2/meta/data-status'\n\n",
		base, base, page.Items[0].DAOID, base)
	printDemoTokens(out, base+"/v2/daos/"+page.Items[0].DAOID+"/timeline?metric=votes_cast", tokens)
}

func (n *node) printAddresses(out io.Writer) {
	fmt.Fprintf(out, "\nPnyx answers on http://%s (health and metrics: http://%s)\n\n", n.cfg.API.Listen, n.cfg.API.AdminListen)
}
