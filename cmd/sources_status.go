package cmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"pnyx/backoff"
	"pnyx/config"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// maxShownPosition bounds a position, maxShownError an error, which is wrapped: its end is the cause.
const maxShownPosition, maxShownError = 48, 400

func sourcesStatusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how far each live source is followed",
		Long: `Show how far each live source is followed, by the cursors in the warehouse: the state,
the age of the newest item that was read through, the cursor, how much of the past is read,
how many items were refused, and the last error, or else what the source states and is not
stored. The requests that upstream still allows come from the process at
PNYX_ADMIN_LISTEN, if it answers.`,
		Args: cobra.NoArgs,
		RunE: warehouseTask(reachExisting, func(cmd *cobra.Command, _ []string, s *session, opened *warehouse.Warehouse) error {
			for ctx := cmd.Context(); ctx.Err() == nil; backoff.Wait(ctx, 2*time.Second) {
				if err := printStatus(ctx, cmd.OutOrStdout(), opened, s.cfg, watch); err != nil || !watch {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every two seconds, until Ctrl-C")
	return cmd
}

func printStatus(ctx context.Context, out io.Writer, opened *warehouse.Warehouse, cfg config.Config, redraw bool) error {
	catalog, err := records.ReadCatalog(ctx, opened)
	if err != nil {
		return err
	}
	if redraw && isatty.IsTerminal(os.Stdout.Fd()) {
		fmt.Fprint(out, "\033[H\033[2J")
	}
	rows := statusRows(catalog, time.Now())
	if len(rows) == 0 {
		fmt.Fprintln(out, "no source is followed yet: set PNYX_SOURCES and start pnyx serve or pnyx follow")
		return nil
	}
	t := newTable("DAO", "source", "state", "lag", "position", "past read", "gaps", "refused", "last error")
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 9, WidthMax: maxWidth, WidthMaxEnforcer: text.WrapSoft}})
	for _, row := range rows {
		t.AppendRow(row)
	}
	fmt.Fprintln(out, printable(t.Render()))
	if left := remainingRequests(ctx, cfg.API.AdminListen); left != "" {
		fmt.Fprintln(out, "requests left:", printable(left))
	}
	return nil
}

func statusRows(catalog records.Catalog, now time.Time) (rows []table.Row) {
	byDAO := func(a, b record.SourceRef) int {
		return cmp.Or(cmp.Compare(catalog.Owner[a], catalog.Owner[b]), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	}
	for _, source := range slices.SortedFunc(maps.Keys(catalog.Sources), byDAO) {
		f := catalog.Sources[source].Follow
		if f == nil {
			continue
		}
		lag, past := "", "100.0 %"
		if f.Status.SetLag(now); f.Status.LagSeconds != nil {
			lag = (time.Duration(*f.Status.LagSeconds) * time.Second).String() //nolint:gosec // since 1970
		}
		if b := f.Status.Backfill; b != nil {
			past = backfill{done: b.Done, total: b.Total}.String()
		}
		rows = append(rows, table.Row{
			catalog.Owner[source], source.ID, f.Status.State, lag, shownPosition(f.Position), past, f.Status.Gaps, f.Status.Rejected,
			governance.Shorten(cmp.Or(f.Error, f.Lacks, f.LatestReject), maxShownError),
		})
	}
	return rows
}

// shownPosition returns the numbers of a cursor: "number 7568".
func shownPosition(position string) string {
	fields := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(position))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return governance.Shorten(position, maxShownPosition)
	}
	var shown []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if number, ok := fields[name].(json.Number); ok {
			shown = append(shown, name+" "+number.String())
		}
	}
	return strings.Join(shown, ", ")
}

// remainingRequests asks an admin listener how many requests each upstream host still allows.
func remainingRequests(ctx context.Context, listener string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener+"/metrics", nil)
	if err != nil {
		return ""
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	form := regexp.MustCompile(`^pnyx_follow_requests_remaining\{host="([^"]*)"\} (\d+)$`)
	var left []string
	for lines := bufio.NewScanner(io.LimitReader(answer.Body, 8<<20)); lines.Scan(); {
		if found := form.FindStringSubmatch(lines.Text()); found != nil {
			left = append(left, found[1]+" "+found[2])
		}
	}
	return strings.Join(left, ", ")
}
