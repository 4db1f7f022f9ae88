package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/cache"
	"pnyx/config"
	"pnyx/governance"
	"pnyx/warehouse"
)

// openGate returns what takes payments for single requests, or nil where nobody is
// to be paid.
func openGate(cfg config.Config, store *cache.Store, logger *slog.Logger, metrics prometheus.Registerer) (*x402.Gate, error) {
	settings := cfg.Payment
	if settings.PayTo == "" {
		return nil, nil //nolint:nilnil // that payments are not taken is no error
	}
	prices, err := prices(settings)
	if err != nil {
		return nil, err
	}
	gate, err := x402.New(x402.Options{
		Terms: x402.Terms{
			Token: x402.Token{
				Network: settings.Network, Asset: settings.Asset,
				Name: settings.AssetName, Version: settings.AssetVersion,
				Symbol: settings.Symbol, Decimals: settings.AssetDecimals,
			},
			PayTo: settings.PayTo, Prices: prices, Window: settings.Window, PublicURL: cfg.API.PublicURL,
		},
		Store:          store,
		FacilitatorURL: string(settings.FacilitatorURL),
		RPCURL:         string(settings.RPCURL),
		VerifyTimeout:  settings.VerifyTimeout,
		SettleTimeout:  settings.SettleTimeout,
		WorkTimeout:    cfg.API.RequestTimeout,
		Logger:         logger,
		Metrics:        metrics,
	})
	if err != nil {
		return nil, fmt.Errorf("payments cannot be taken:\n%w", err)
	}
	return gate, nil
}

// prices returns what each paid route costs.
func prices(settings config.Payment) (map[string]string, error) {
	prices := map[string]string{}
	for _, route := range api.Routes() {
		switch route.Tier {
		case api.Standard:
			prices[route.ID] = settings.PriceStandard
		case api.Plus:
			prices[route.ID] = settings.PricePlus
		case api.Free:
		}
	}
	for override := range strings.SplitSeq(settings.PriceOverrides, ",") {
		route, price, given := strings.Cut(override, "=")
		if !given {
			continue
		}
		if _, paid := prices[route]; !paid {
			return nil, fmt.Errorf("X402_PRICE_OVERRIDES: %q is not the id of a paid route", route)
		}
		prices[route] = price
	}
	return prices, nil
}

func paymentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "payments", Short: "Look into the ledger of payments per request"}
	cmd.AddCommand(listPaymentsCommand())
	return cmd
}

func listPaymentsCommand() *cobra.Command {
	var filter warehouse.PaymentFilter
	var state, since string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List payments, newest first",
		Long: `List the payments that were handed over for settlement, newest first. What came in
is also the view payment_ledger, for pnyx sql.`,
		Args: cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, cfg config.Config, logger *slog.Logger) (err error) {
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
			var undo cleanups
			defer func() { err = errors.Join(err, undo.run()) }()
			return listPayments(cmd, cfg, logger, &undo, filter)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only those in this state: "+stateNames())
	flags.StringVar(&filter.Payer, "payer", "", "only those of this address")
	flags.StringVar(&since, "since", "", "only those since this RFC 3339 time or date")
	flags.Uint64Var(&filter.Limit, "limit", 100, "at most so many; 0 for all")
	return cmd
}

func listPayments(
	cmd *cobra.Command, cfg config.Config, logger *slog.Logger, undo *cleanups, filter warehouse.PaymentFilter,
) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), cfg.Warehouse.QueryTimeout+engineWait)
	defer cancel()
	opened, err := openWarehouse(ctx, cfg, logger, undo, reachEngine)
	if err != nil {
		return err
	}
	payments, err := opened.Payments(ctx, filter)
	if err != nil {
		return err
	}
	t := newTable([]string{"claimed", "state", "amount", "token", "route", "payer", "transaction", "reason"})
	for _, p := range payments {
		t.AppendRow(shown([]any{
			p.ClaimedAt.Time().Truncate(time.Millisecond), string(p.State), p.Amount, p.Symbol, p.RouteID,
			p.Payer, p.Transaction, p.Reason,
		}))
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), t.Render())
	return err
}

// paymentState returns the state of that name; "" is none.
func paymentState(name string) (governance.PaymentState, error) {
	if name == "" {
		return "", nil
	}
	for _, state := range governance.PaymentStates() {
		if string(state) == name {
			return state, nil
		}
	}
	return "", fmt.Errorf("--state %s: want %s", name, stateNames())
}

func stateNames() string {
	var names []string
	for _, state := range governance.PaymentStates() {
		names = append(names, string(state))
	}
	return strings.Join(names, ", ")
}
