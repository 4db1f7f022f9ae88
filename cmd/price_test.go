package cmd

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access/x402"
	"pnyx/config"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

func TestTermsAreDescribedToIndexesOnlyWhereTheSettingIsOn(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	for _, c := range []struct {
		setting, url string
		want         bool
	}{
		{"", "/v2/daos/uniswap/voters", false},
		{"off", "/v2/daos/uniswap/voters", false},
		{"on", "/v2/daos/uniswap/voters", true},
		{"on", "mcp://tool/voters", false},
	} {
		t.Run(c.setting+" "+c.url, func(t *testing.T) {
			t.Parallel()
			cfg := env.Must(config.Parse(map[string]string{
				"X402_BAZAAR": c.setting, "X402_PAY_TO": facilitator.PayTo,
				"X402_FACILITATOR_URL": "https://facilitator.example.org", "PNYX_PUBLIC_URL": "https://api.example.org",
			}))(t)
			gate := env.Must(openGate(cfg, store, slog.New(slog.DiscardHandler), prometheus.NewRegistry()))(t)
			t.Cleanup(gate.Close)
			challenge := gate.Challenge(x402.Request{RouteID: "daos.voters", URL: c.url}).Challenge
			env.Want(t, c.want, challenge.Extensions["bazaar"] != nil, "described")
		})
	}
}

func TestARouteWithTwoPricesIsRefused(t *testing.T) {
	t.Parallel()
	_, err := routePrices(config.Payment{PriceStandard: "1", PricePlus: "2", PriceOverrides: "daos.timeline=0.1,daos.timeline=0.2"})
	if err == nil || !strings.Contains(err.Error(), "daos.timeline") {
		t.Errorf("got %v, want an error that names the route", err)
	}
}
