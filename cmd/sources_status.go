package cmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"pnyx/config"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

const (
	// statusInterval is the time between two tables of --watch.
	statusInterval = 2 * time.Second
	// maxShownBytes bounds a position or an error in the table.
	maxShownBytes = 48
	// metricsTimeout bounds the question for the remaining requests.
	metricsTimeout = time.Second
)

// sourcesStatusCommand shows how far each source is followed.
func sourcesStatusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how far each live source is followed",
		Long: `Show how far each live source is followed, by the cursors in the warehouse: the state,
the age of the newest item that was read through, the cursor, how much of the past is read,
and the last error. The requests that upstream still allows come from the process at
PNYX_ADMIN_LISTEN, if it answers.`,
		Args: cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, cfg config.Config, logger *slog.Logger) (err error) {
			var undo cleanups
			defer func() { err = errors.Join(err, undo.run()) }()
			opened, err := openWarehouse(cmd.Context(), cfg, logger, &undo, reachExisting)
			if err != nil {
				return err
			}
			for {
				if err := printStatus(cmd.Context(), cmd.OutOrStdout(), opened, cfg, watch); err != nil || !watch {
					return err
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(statusInterval):
				}
			}
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every two seconds, until Ctrl-C")
	return cmd
}

func printStatus(ctx context.Context, out io.Writer, opened *warehouse.Warehouse, cfg config.Config, clear bool) error {
	cursors, err := opened.FollowCursors(ctx, "")
	if err != nil {
		return err
	}
	catalog, err := opened.Catalog(ctx)
	if err != nil {
		return err
	}
	if clear && isatty.IsTerminal(os.Stdout.Fd()) {
		fmt.Fprint(out, "\033[H\033[2J")
	}
	if len(cursors) == 0 {
		fmt.Fprintln(out, "no source is followed yet: set PNYX_SOURCES and start pnyx serve or pnyx follow")
		return nil
	}
	t := newTable([]string{"DAO", "source", "state", "lag", "position", "past read", "gaps", "last error"})
	for _, s := range statuses(cursors) {
		t.AppendRow(table.Row{
			catalog.Owner[s.source], cmp.Or(s.source.ID, "all of "+s.upstream), s.state, s.lag(time.Now()), s.position,
			s.past(), s.gaps, s.failure,
		})
	}
	fmt.Fprintln(out, printable(t.Render()))
	if left := remainingRequests(ctx, cfg.API.AdminListen); left != "" {
		fmt.Fprintln(out, "requests left:", printable(left))
	}
	return nil
}

// sourceStatus sums up the lanes of one source.
type sourceStatus struct {
	upstream, position, failure string
	source                      record.SourceRef
	state                       warehouse.FollowState
	upstreamAt                  *time.Time
	done, total, gaps           uint64
}

// statuses returns one status for each source, in order of upstreams and sources. Lanes
// that an upstream shares count for each of its sources; they have a row of their own only
// where there is no other.
func statuses(cursors []warehouse.FollowCursor) (all []sourceStatus) {
	shared := map[string][]warehouse.FollowCursor{}
	own := map[string]bool{}
	for _, c := range cursors {
		own[c.Upstream] = own[c.Upstream] || c.SourceID != ""
		if c.SourceID == "" {
			shared[c.Upstream] = append(shared[c.Upstream], c)
		}
	}
	for _, c := range cursors {
		if c.SourceID == "" && own[c.Upstream] {
			continue
		}
		last := len(all) - 1
		if last < 0 || all[last].upstream != c.Upstream || all[last].source != c.Source() {
			all = append(all, sourceStatus{upstream: c.Upstream, source: c.Source(), state: warehouse.FollowOff})
			last++
			if c.SourceID != "" && c.State != warehouse.FollowOff {
				for _, s := range shared[c.Upstream] {
					all[last].add(s)
				}
			}
		}
		all[last].add(c)
	}
	return all
}

// add counts a lane. The worst state of all lanes is that of the source.
func (s *sourceStatus) add(c warehouse.FollowCursor) {
	order := []warehouse.FollowState{
		warehouse.FollowOff, warehouse.FollowLive, warehouse.FollowBackfilling, warehouse.FollowBehind,
		warehouse.FollowLimited, warehouse.FollowFailing,
	}
	if slices.Index(order, c.State) > slices.Index(order, s.state) {
		s.state = c.State
	}
	if c.UpstreamAt != nil && (s.upstreamAt == nil || c.UpstreamAt.After(*s.upstreamAt)) {
		s.upstreamAt = c.UpstreamAt
		s.position = shortened(c.Position)
	}
	if c.Failures > 0 {
		s.failure = shortened(c.Lane + ": " + c.Error)
	}
	s.position = cmp.Or(s.position, shortened(c.Position))
	s.done, s.total, s.gaps = s.done+c.Done, s.total+c.Total, s.gaps+c.Gaps
}

func (s *sourceStatus) lag(now time.Time) string {
	if s.upstreamAt == nil {
		return ""
	}
	return max(now.Sub(*s.upstreamAt), 0).Round(time.Second).String()
}

func (s *sourceStatus) past() string {
	if s.total == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(min(s.done, s.total))/float64(s.total))
}

// shortened cuts a text to what a column holds.
func shortened(text string) string {
	if len(text) <= maxShownBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownBytes], "") + "…"
}

// remainingRequests asks the process at an admin listener how many requests each upstream
// host still allows. It returns "" where none answers or no host says.
func remainingRequests(ctx context.Context, listener string) string {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
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
