package cmd

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/access/x402"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/config"
	"pnyx/governance"
	"pnyx/reference"
)

// openGate returns the gate that takes payments for single requests, or nil where X402_PAY_TO is not set.
func openGate(cfg config.Config, store *cache.Store, logger *slog.Logger, metrics prometheus.Registerer) (*x402.Gate, error) {
	settings := cfg.Payment
	if settings.PayTo == "" {
		return nil, nil //nolint:nilnil // payments are off
	}
	prices, err := routePrices(settings)
	if err != nil {
		return nil, err
	}
	var discovery func(routeID, path string) any
	if settings.Bazaar == "on" {
		discovery = reference.Discovery(cfg.API.PublicURL)
	}
	gate, err := x402.New(x402.Options{
		Terms: x402.Terms{
			Token: x402.Token{
				Network: settings.Network, Asset: settings.Asset,
				Name: settings.AssetName, Version: settings.AssetVersion,
				Symbol: settings.Symbol, Decimals: settings.AssetDecimals,
			},
			PayTo: settings.PayTo, Prices: prices, Window: settings.Window, PublicURL: cfg.API.PublicURL,
			Discovery: discovery,
		},
		Store:          accounts.New(store),
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

// routePrices returns the price of each paid route: its tier's unless X402_PRICE_OVERRIDES names it. An override
// for an unknown or free route is an error, and so are two for one route.
func routePrices(settings config.Payment) (map[string]string, error) {
	prices := map[string]string{}
	for _, route := range routes.All() {
		switch route.Tier {
		case governance.Standard:
			prices[route.ID] = settings.PriceStandard
		case governance.Plus:
			prices[route.ID] = settings.PricePlus
		// Free routes have no price, so an override for one is an error below.
		case governance.Free:
		}
	}
	overridden := map[string]bool{}
	for override := range strings.SplitSeq(settings.PriceOverrides, ",") {
		route, price, given := strings.Cut(override, "=")
		if !given {
			continue
		}
		if _, paid := prices[route]; !paid {
			return nil, fmt.Errorf("X402_PRICE_OVERRIDES: %q is not the id of a paid route", route)
		}
		if overridden[route] {
			return nil, fmt.Errorf("X402_PRICE_OVERRIDES: %q has two prices", route)
		}
		prices[route], overridden[route] = price, true
	}
	return prices, nil
}

// apiPrices returns the prices of paid routes as the API publishes them, also where payments are off.
func apiPrices(settings config.Payment) (routes.Prices, error) {
	published := routes.Prices{
		Token: settings.Symbol, Network: settings.Network, PayPerRequest: settings.PayTo != "",
		Paid: map[string]governance.Decimal{},
	}
	texts, err := routePrices(settings)
	if err != nil {
		return routes.Prices{}, err
	}
	for route, text := range texts {
		price, err := decimal.NewFromString(text)
		if err != nil {
			return routes.Prices{}, fmt.Errorf("price of %s: %w", route, err)
		}
		published.Paid[route] = governance.DecimalOf(price)
	}
	return published, nil
}
