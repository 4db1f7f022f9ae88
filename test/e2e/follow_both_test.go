package e2e_test

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/env"
	"pnyx/test/upstream/chain"
	"pnyx/test/upstream/tally"
)

// A Governor is followed on its chain and at Tally: its actions are stored alike, and it counts once.
func TestTallyAndTheChainStateTheSameActions(t *testing.T) {
	t.Parallel()
	const (
		governor = "0x00000000000000000000000000000000000000aa" // of all organizations of the endpoint
		payee    = "0x00000000000000000000000000000000000000C3"
		words    = "00000000000000000000000000000000000000000000000000000000000000c3000000000000000000000000000000000000000000000000000000000000000f"
	)
	calls := []tally.Call{
		{Target: payee, Value: "1500000000000000000", Calldata: "0x", ChainID: "eip155:1"},
		// With a selector, of which the signature is an explanation, and as Bravo states it, without.
		{Target: governor, Value: "0", Calldata: "0xa9059cbb" + words, Signature: "transfer(address,uint256)", ChainID: "eip155:1"},
		{Target: payee, Value: "0", Calldata: "0x" + words, Signature: "transfer(address,uint256)", ChainID: "eip155:1"},
		{Target: payee, Value: "115792089237316195423570985008687907853269984665640564039457584007913129639935", Calldata: "0x01020304", ChainID: "eip155:1"},
	}
	endpoint := tally.New(time.Now)
	endpoint.AddOrganization("harbor", "Harbor", 18)
	number, _ := new(big.Int).SetString(endpoint.SetCalls(endpoint.Propose("harbor", "Dredge", time.Hour), calls...), 10)

	c := chain.New(1, time.Now().Add(-20*time.Minute), 10)
	c.Create(governor, 1)
	c.Answer(governor, "name()", nil, "Harbor Governor")
	c.Answer(governor, "COUNTING_MODE()", nil, "support=bravo&quorum=for,abstain")
	c.Answer(governor, "token()", nil, chain.Hex("0xbb"))
	c.Answer("0x00000000000000000000000000000000000000bb", "decimals()", nil, uint64(18))
	var targets, values, signatures, calldatas chain.List
	for _, call := range calls {
		value, _ := new(big.Int).SetString(call.Value, 10)
		data := env.Must(hex.DecodeString(call.Calldata[2:]))(t)
		targets, values, calldatas = append(targets, chain.Hex(call.Target)), append(values, value), append(calldatas, data)
		if strings.HasPrefix(call.Calldata, "0xa9059cbb") {
			call.Signature = "" // OpenZeppelin's Governors state none
		}
		signatures = append(signatures, call.Signature)
	}
	c.MineEmpty(50)
	c.Mine(chain.Emit(governor, "ProposalCreated(uint256,address,address[],uint256[],string[],bytes[],uint256,uint256,string)", 0, number,
		chain.Hex("0xa1"), targets, values, signatures, calldatas, uint64(60), uint64(1_000_000), "# Dredge"))
	c.MineEmpty(30)

	atTally, onChain := httptest.NewServer(endpoint), httptest.NewServer(c)
	t.Cleanup(atTally.Close)
	t.Cleanup(onChain.Close)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	writeSources(t, file, fmt.Sprintf("contact: test@example.org\ntally: {url: %s/query, requestsPerMinute: 6000}\nchains: {'eip155:1': {rpc: [%s], requestsPerMinute: 60000}}\n"+
		"daos:\n- {id: harbor, name: Harbor, tally: [harbor], governors: ['eip155:1:%s']}\n", atTally.URL, onChain.URL, governor))
	i := startShared(t, []string{"PNYX_SOURCES=" + file}, "serve").ready()

	const stored = "SELECT concat(toString(position), ' ', chain, ' ', target, ' ', toString(value), ' ', signature, ' ', hex(calldata), ' ', toString(delegate)) FROM actions FINAL " +
		"WHERE NOT withdrawn AND proposal_ref IN (SELECT proposal_ref FROM proposals FINAL WHERE provider = '%s') ORDER BY position"
	env.Until(t, func() error {
		fromTally, fromChain := i.Column(fmt.Sprintf(stored, "tally")), i.Column(fmt.Sprintf(stored, "governor"))
		if diff := cmp.Diff(fromTally, fromChain); diff != "" || len(fromChain) != len(calls) {
			return fmt.Errorf("-Tally's +the chain's, of %d calls\n%s", len(calls), diff)
		}
		rows, err := i.Walk("/v2/proposals?daoId=harbor", 100)
		if err != nil || len(rows) != 1 || !strings.Contains(string(rows[0]), `"governor"`) {
			return fmt.Errorf("got %s (%w), want the proposal of the chain alone", rows, err)
		}
		return nil
	})
	if fromChain := i.Column(fmt.Sprintf(stored, "governor")); !strings.HasPrefix(fromChain[1], "1 eip155:1 "+governor+" 0  A9059CBB") {
		t.Errorf("got the actions %v, want a selector without a signature in the second", fromChain)
	}
}
