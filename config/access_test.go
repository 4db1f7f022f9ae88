package config_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"pnyx/config"
	"pnyx/test/check"
)

func TestInternalTokensAreLongAndAtMostTwo(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("a", 32), strings.Repeat("b", 40)
	for given, want := range map[string][]string{"": nil, one: {one}, one + "," + two: {one, two}} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			c, err := config.Parse(map[string]string{"PNYX_INTERNAL_TOKEN": given})
			if err != nil {
				t.Errorf("%v", err)
			}
			check.WantSame(t, fmt.Sprintf("%q", given), want, c.Access.Internal.All())
		})
	}
	for _, given := range []string{
		one[:31], one + ",", one + "," + two[:31], one + "," + two + "," + one, one + ", " + two, strings.Repeat("é", 32), one + "\n",
	} {
		if text := refused(t, map[string]string{"PNYX_INTERNAL_TOKEN": given}).Error(); strings.Contains(text, one[:8]) {
			t.Errorf("the refusal of %q tells it: %s", given, text)
		}
	}
}

func TestTrustedProxiesAreAddressesAndNetworks(t *testing.T) {
	t.Parallel()
	c := check.Must(config.Parse(map[string]string{"PNYX_TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1,fd00::/8"}))(t)
	want := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("fd00::/8"),
	}
	check.WantSame(t, "answer", want, c.Access.TrustedProxies.Prefixes(), cmpopts.EquateComparable(netip.Prefix{}))
	for _, given := range []string{"*", "10.0.0.0/33", "proxy.example", "10.0.0"} {
		_ = refused(t, map[string]string{"PNYX_TRUSTED_PROXIES": given})
	}
}

func TestV2LaunchIsATime(t *testing.T) {
	t.Parallel()
	c, err := config.Parse(map[string]string{"PNYX_V2_LAUNCHED_AT": "2026-01-01T00:00:00+01:00"})
	if got, want := c.Access.V2Launch.Time().UTC().String(), "2025-12-31 23:00:00 +0000 UTC"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if c, err := config.Parse(nil); err != nil || !c.Access.V2Launch.Time().IsZero() {
		t.Errorf("no launch: got %s, %v, want none", c.Access.V2Launch.Time(), err)
	}
	_ = refused(t, map[string]string{"PNYX_V2_LAUNCHED_AT": "2026-01-01"})
}
