package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// The methods by which nodes simulate.
const (
	simulateMethod = "eth_simulateV1"
	callMethod     = "eth_call"
)

const (
	// maxSimulated bounds the calls of one simulation.
	maxSimulated = 50
	// maxReason bounds the reason of a failure in bytes.
	maxReason = 200
	// nativeToken is the address under which nodes log native money that moves.
	nativeToken = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
)

// simulate executes the actions of a proposal as its executor: in one block where the node can, or else each alone.
func (c observer) simulate(ctx context.Context, e *endpoint, x *execution, head header) (governance.DossierSimulation, error) {
	s := governance.DossierSimulation{
		Executor: x.executor, Block: governance.CountOf(head.number()), At: governance.TimestampOf(head.at()), Result: governance.SimulationUnavailable,
		Calls: []governance.DossierSimulatedCall{}, Transfers: []governance.DossierMovement{},
	}
	some := x.actions[:min(len(x.actions), maxSimulated)]
	s.Omitted = len(x.actions) - len(some)
	calls := make([]map[string]string, len(some))
	for i, a := range some {
		value, _ := new(big.Int).SetString(a.Value, 10) // read from a word
		calls[i] = map[string]string{"from": x.executor, "to": a.Target, "value": "0x" + value.Text(16), "data": dataOf(a)}
	}
	at := hexOf(head.number())
	together := &call{method: simulateMethod, params: []any{map[string]any{
		"blockStateCalls": []any{map[string]any{"calls": calls}}, "traceTransfers": true, "validation": false,
	}, at}}
	if err := c.do(ctx, e, []*call{together}); err != nil {
		return s, err
	}
	if together.err == nil && readTogether(&s, together, len(calls)) {
		return s, nil
	}
	alone := warehouse.Values(calls, func(asked map[string]string) *call { return &call{method: callMethod, params: []any{asked, at}} })
	if err := c.do(ctx, e, alone); err != nil {
		return s, err
	}
	readAlone(&s, alone)
	return s, nil
}

func dataOf(a record.Action) string {
	selector := "0x"
	if a.Signature != "" {
		selector = keccak(a.Signature)[:10]
	}
	return fmt.Sprintf("%s%x", selector, a.Calldata)
}

type simulatedLog struct {
	Address string   `json:"address"`
	Data    string   `json:"data"`
	Topics  []string `json:"topics"`
}

// readTogether reads the answer of eth_simulateV1; false if it is none.
func readTogether(s *governance.DossierSimulation, c *call, count int) bool {
	var blocks []struct {
		Calls []struct {
			Status     string         `json:"status"`
			ReturnData string         `json:"returnData"`
			GasUsed    quantity       `json:"gasUsed"`
			Logs       []simulatedLog `json:"logs"`
			Error      *rpcError      `json:"error"`
		} `json:"calls"`
	}
	if err := fetch.Decode(c.result, &blocks); err != nil || len(blocks) != 1 || len(blocks[0].Calls) != count {
		return false
	}
	for _, of := range blocks[0].Calls {
		if of.Status != "0x0" && of.Status != "0x1" {
			return false
		}
	}
	s.Method, s.Result = new(simulateMethod), governance.SimulationSucceeds
	for i, of := range blocks[0].Calls {
		result := governance.DossierSimulatedCall{Success: of.Status == "0x1", GasUsed: new(governance.CountOf(uint64(of.GasUsed)))}
		if !result.Success {
			refused := cmp.Or(of.Error, &rpcError{Message: "the call failed"})
			result.Reason = new(reasonOf(refused, of.ReturnData))
			fail(s, governance.SimulationReverts, i, *result.Reason)
		}
		s.Calls = append(s.Calls, result)
		for _, l := range of.Logs {
			if moved, is := l.movement(); is && len(s.Transfers) < governance.MaxMovements {
				s.Transfers = append(s.Transfers, moved)
			}
		}
	}
	return true
}

// fail notes a call that failed. The first one decides.
func fail(s *governance.DossierSimulation, result string, at int, reason string) {
	if s.Result == governance.SimulationSucceeds {
		s.Result, s.Reason = result, new(fmt.Sprintf("call %d: %s", at, reason))
	}
}

func (l *simulatedLog) movement() (m governance.DossierMovement, is bool) {
	if len(l.Topics) == 0 || l.Topics[0] != keccak("Transfer(address,address,uint256)") {
		return m, false
	}
	data, err := unhex(l.Data)
	if err != nil {
		return m, false
	}
	values, err := decode([]string{"address", "address", "uint256"}, l.Topics[1:], data)
	if err != nil {
		return m, false
	}
	m = governance.DossierMovement{From: values.text(0), To: values.text(1), Units: governance.Decimal(values.number(2).String())}
	if len(l.Topics) == 1+len(values) { // the id of a token of which there is one
		m.Units = "1"
	}
	if token := strings.ToLower(l.Address); token != nativeToken {
		m.Token = &token
	}
	return m, true
}

// readAlone reads calls that were made each alone. A later one may fail for want of what an earlier one does.
func readAlone(s *governance.DossierSimulation, calls []*call) {
	s.Method, s.Result = new(callMethod), governance.SimulationSucceeds
	for i, c := range calls {
		result := governance.DossierSimulatedCall{Success: c.err == nil}
		if refused, is := errors.AsType[*rpcError](c.err); is {
			result.Reason = new(reasonOf(refused, ""))
			switch {
			case !refused.isFailure():
				s.Method, s.Result, s.Reason, s.Calls = nil, governance.SimulationUnavailable, result.Reason, s.Calls[:0]
				return
			case i == 0:
				fail(s, governance.SimulationReverts, i, *result.Reason)
			default:
				fail(s, governance.SimulationUnknown, i, *result.Reason)
			}
		}
		s.Calls = append(s.Calls, result)
	}
}

// reasonOf returns why a call failed: the contract's text, the selector of its error, or else what the node says.
func reasonOf(e *rpcError, returned string) string {
	var text string
	if json.Unmarshal(e.Data, &text) != nil || text == "" {
		text = returned
	}
	reason := e.Message
	if data, err := unhex(text); err == nil && len(data) >= len(abi.Selector{}) {
		content := data[len(abi.Selector{}):]
		switch abi.Selector(data) {
		case abi.SelectorOf("Error(string)"):
			if values, err := abi.DecodeValues("(string)", content); err == nil {
				reason = values[0].Value
			}
		case abi.SelectorOf("Panic(uint256)"):
			if values, err := abi.DecodeValues("(uint256)", content); err == nil {
				reason = "panic " + values[0].Value
			}
		default:
			reason = fmt.Sprintf("error 0x%x", data[:len(abi.Selector{})])
		}
	}
	if clipped := record.Clip(validText(reason), maxReason); clipped != reason {
		return clipped + "…"
	}
	return reason
}
