package dossier

import (
	"testing"

	"pnyx/governance"
)

func TestNativeMoneyIsEtherOnChainsOfEtherAlone(t *testing.T) {
	t.Parallel()
	for chain, want := range map[string]string{"eip155:1": "eth", "eip155:100": "usd", "eip155:137": "", "": ""} {
		if got := moneyIn(chain, governance.DossierTransfer{}); got != want {
			t.Errorf("%q: got %q, want %q", chain, got, want)
		}
	}
}
