package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

func paymentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "payments", Short: "Show the ledger of payments per request"}
	cmd.AddCommand(listPaymentsCommand())
	return cmd
}

func listPaymentsCommand() *cobra.Command {
	var filter accounts.PaymentFilter
	var state, since string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List payments, newest first",
		Long: `List the payments that were submitted for settlement, newest first. The view
payment_ledger shows the settled ones to pnyx sql.`,
		Args: cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, s *session) (err error) {
			filter.State, err = paymentState(state)
			if err != nil {
				return err
			}
			if since != "" {
				stamp, err := governance.ParseTimestamp(since)
				if err != nil {
					return fmt.Errorf("--since: %w", err)
				}
				filter.Since = stamp.Time()
			}
			return s.listPayments(cmd, filter)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only those in this state: "+stateNames())
	flags.StringVar(&filter.Payer, "payer", "", "only payments of this address")
	flags.StringVar(&since, "since", "", "only those since this RFC 3339 time or date")
	flags.Uint64Var(&filter.Limit, "limit", 100, "number of payments at most; 0 for all")
	return cmd
}

func (s *session) listPayments(cmd *cobra.Command, filter accounts.PaymentFilter) error {
	opened, err := s.openWarehouse(cmd.Context(), reachExisting)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), s.cfg.Warehouse.QueryTimeout)
	defer cancel()
	payments, err := accounts.NewAccounts(opened).Payments(ctx, filter)
	if err != nil {
		return err
	}
	t := newTable("claimed", "state", "amount", "token", "route", "payer", "transaction", "reason")
	for _, p := range payments {
		t.AppendRow(table.Row{
			shownTime(p.ClaimedAt.Time()), string(p.State), p.Amount, p.Symbol, p.RouteID,
			p.Payer, p.Transaction, p.Reason,
		})
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(t.Render()))
	return err
}

// paymentState returns the state with a name; the empty one selects payments of any state.
func paymentState(name string) (governance.PaymentState, error) {
	state := governance.PaymentState(name)
	if name == "" || slices.Contains(governance.PaymentStates(), state) {
		return state, nil
	}
	return "", fmt.Errorf("--state %s: want %s", name, stateNames())
}

func stateNames() string {
	return strings.Join(warehouse.NonNilTexts(governance.PaymentStates()), ", ")
}
