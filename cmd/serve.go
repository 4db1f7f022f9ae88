package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"pnyx/api"
	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/warehouse/engine"
)

func serveCommand() *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run everything in one process: warehouse, worker and API",
		Args:  cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, s *session) error {
			if s.cfg.SQL.Listen != "" && s.cfg.Warehouse.URL != "" {
				return errors.New("PNYX_SQL_LISTEN: is for the embedded ClickHouse; analysts connect to the server of CLICKHOUSE_URL itself")
			}
			return newNode(s).serve(cmd.Context(), cmd.OutOrStdout(), demo)
		}),
	}
	cmd.Flags().BoolVar(&demo, "demo", false, "load a small invented data set into an empty warehouse")
	return cmd
}

// announce waits half a minute for the first publication, while the node already serves, then prints the
// addresses and requests to try, with the demonstration's tokens if there are any.
func (n *node) announce(ctx context.Context, out io.Writer, served *api.API, store *cache.Store, tokens []demoToken) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if !pollReady(ctx, served, 100*time.Millisecond) {
		fmt.Fprintln(out, "The first publication is still under way.")
		n.printAddresses(out)
		return
	}
	n.printAddresses(out)
	page, err := store.DAOPage(ctx, query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 1}})
	if n.cfg.Follow.Sources != "" {
		fmt.Fprintf(out, "Following the sources of %s. How far it is:\n\n  bin/pnyx sources status --watch\n\n", n.cfg.Follow.Sources)
	} else if err != nil || len(page.Items) == 0 {
		fmt.Fprintf(out, "The warehouse is empty. Fill it from another terminal:\n\n  bin/pnyx import PATH\n\n")
	}
	if err != nil || len(page.Items) == 0 {
		return
	}
	base := "http://" + n.cfg.API.Listen
	fmt.Fprintf(out, "Try:\n\n  curl -s '%s/v2/daos?limit=2'\n  curl -s '%s/v2/daos/%s'\n  curl -s '%s/v2/meta/data-status'\n\n",
		base, base, page.Items[0].DAOID, base)
	fragment := ""
	if len(tokens) > 0 { // a browser sends no fragment
		fragment = "#token=" + tokens[len(tokens)-1].raw
	}
	fmt.Fprintf(out, "In a browser:\n\n  %s%s%s\n  %s%s\n\n", base, api.PathExplore, fragment, base, api.PathDocs)
	printDemoTokens(out, base+"/v2/daos/"+page.Items[0].DAOID+"/timeline?metric=votes_cast", tokens)
}

func (n *node) printAddresses(out io.Writer) {
	fmt.Fprintf(out, "\nPnyx answers on http://%s (health and metrics: http://%s)\n\n", n.cfg.API.Listen, n.cfg.API.AdminListen)
	if n.cfg.SQL.Listen != "" {
		kept := engine.PasswordPath(n.cfg.Warehouse.Data)
		if n.cfg.SQL.Password != "" {
			kept = "PNYX_SQL_PASSWORD"
		}
		fmt.Fprintf(out, "Analysts ask ClickHouse on %s as user %s, password in %s\n\n", n.cfg.SQL.Listen, engine.AnalystUser, kept)
	}
}
