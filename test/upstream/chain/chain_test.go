package chain_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pnyx/test/check"
	"pnyx/test/upstream/chain"
)

const contract = "0x00000000000000000000000000000000000000aa"

// ask sends a body and returns the answer as text.
func ask(t *testing.T, c *chain.Chain, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body)))
	return w.Body.String()
}

func logsRequest() string {
	return `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"address":["` + contract + `"],"topics":[["` +
		chain.Keccak("ProposalExecuted(uint256)") + `"]],"fromBlock":"0x0","toBlock":"0xff"}]}`
}

func newChain() *chain.Chain {
	c := chain.New(7, time.Unix(1_700_000_000, 0), 3)
	c.MineEmpty(9)
	c.Mine(chain.Emit(contract, "ProposalExecuted(uint256)", 0, uint64(5)))
	return c
}

func TestEachFaultOfTheChainHasASwitch(t *testing.T) {
	t.Parallel()
	const latest = `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}`
	const final = `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["finalized",false]}`
	for name, tt := range map[string]struct {
		faults chain.Faults
		body   string
		want   string
	}{
		"none, logs":    {chain.Faults{}, logsRequest(), `"blockNumber":"0xa"`},
		"none, head":    {chain.Faults{}, latest, `"number":"0xa"`},
		"none, final":   {chain.Faults{}, final, `"number":"0x7"`},
		"head back":     {chain.Faults{HeadBack: 2}, latest, `"number":"0x8"`},
		"lacks blocks":  {chain.Faults{Lacks: 2}, logsRequest(), `"result":[]`},
		"no final":      {chain.Faults{NoFinal: true}, final, "invalid block tag"},
		"no batches":    {chain.Faults{Batches: `{"a":"refusal"}`}, "[" + latest + "]", "refusal"},
		"forgets":       {chain.Faults{Forget: func(uint64) bool { return true }}, logsRequest(), `"result":[]`},
		"refuses":       {chain.Faults{Logs: func(uint64, uint64) *chain.Refusal { return &chain.Refusal{Code: 35, Message: "no"} }}, logsRequest(), `"code":35`},
		"other methods": {chain.Faults{}, `{"jsonrpc":"2.0","id":1,"method":"eth_mine","params":[]}`, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain()
			c.Fail(tt.faults)
			check.WantPart(t, tt.want, ask(t, c, tt.body))
		})
	}
}

func TestAnswersToABatchComeInAnotherOrder(t *testing.T) {
	t.Parallel()
	body := `[{"id":1,"method":"eth_chainId","params":[]},{"id":2,"method":"eth_chainId","params":[]}]`
	var got []struct{ ID int }
	if err := json.NewDecoder(bytes.NewBufferString(ask(t, newChain(), body))).Decode(&got); err != nil || len(got) != 2 || got[0].ID != 2 {
		t.Errorf("got %v, %v, want the second answer first", got, err)
	}
}
