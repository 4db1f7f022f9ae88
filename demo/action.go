package demo

import (
	"fmt"
	"strings"

	"pnyx/governance/abi"
)

// executableCall is a call that an on-chain proposal executes, as Tally publishes it.
type executableCall struct {
	Target    string `json:"target"`
	Value     string `json:"value"`
	Calldata  string `json:"calldata"`
	Signature string `json:"signature"`
	ChainID   string `json:"chainId"`
}

// safePlugins are the plugins of a Snapshot proposal, of which one executes a batch.
type safePlugins struct {
	SafeSnap *safeSnap `json:"safeSnap,omitempty"`
}

type safeSnap struct {
	Safes []safePlan `json:"safes"`
}

type safePlan struct {
	Network        string       `json:"network"`
	RealityAddress string       `json:"realityAddress"`
	Batches        [][]safeCall `json:"txs"`
}

type safeCall struct {
	To        string `json:"to"`
	Value     string `json:"value"`
	Data      string `json:"data"`
	Operation string `json:"operation"`
}

// usdc is the token that treasuries of the demonstration pay with.
const usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

// callData returns the data of a call with words: addresses, numbers, or content in hexadecimal.
func callData(signature string, words ...any) string {
	var data strings.Builder
	fmt.Fprintf(&data, "0x%x", abi.SelectorOf(signature))
	for _, word := range words {
		switch word := word.(type) {
		case int:
			fmt.Fprintf(&data, "%064x", word)
		case string:
			digits := strings.TrimPrefix(word, "0x")
			if len(digits) < 64 {
				digits = strings.Repeat("0", 64-len(digits)) + digits
			}
			data.WriteString(digits + strings.Repeat("0", (64-len(digits)%64)%64))
		}
	}
	return data.String()
}

// drawCalls returns the calls of an on-chain proposal, in turn of every kind, and what its text
// says of them: a payment states whom it pays, and how much.
func (p *proposal) drawCalls() (calls []executableCall, stated string) {
	self, other := p.dao.contract(0), p.dao.contract(1)
	pay := callData("transfer(address,uint256)", other, 25_000_000_000)
	packed := "00" + usdc[2:] + strings.Repeat("0", 64) + fmt.Sprintf("%064x", len(pay)/2-1) + pay[2:]
	role := strings.Repeat("0", 64)
	kinds := []struct{ target, value, signature, data string }{
		{target: usdc, data: pay},
		{target: usdc, data: callData("approve(address,uint256)", other, 1_000_000)},
		{target: self, data: callData("mint(address,uint256)", other, 7)},
		{target: self, data: callData("grantRole(bytes32,address)", role, other)},
		{target: self, data: callData("transferOwnership(address)", other)},
		{target: self, data: callData("upgradeTo(address)", other)},
		{target: self, data: callData("setVotingPeriod(uint256)", 50_400)},
		{target: self, data: callData("updateDelay(uint256)", 172_800)},
		{target: self, signature: "_setReserveFactor(uint256)", data: "0x" + callData("_setReserveFactor(uint256)", 7)[10:]},
		{target: "0x25ace71c97b33cc4729cf772ae268934f7ab5fa1", data: callData("sendMessage(address,bytes,uint32)", other, 96, 200_000, len(pay)/2-1, pay)},
		{target: self, data: callData("multiSend(bytes)", 32, len(packed), packed+packed)},
		{target: self, data: callData("addOwnerWithThreshold(address,uint256)", other, 3)},
		{target: self, data: callData("createStream(address,uint256,address,uint256,uint256)", other, 86_400, usdc, int(p.end), int(p.end)+86_400)},
		{target: self, data: callData("exchange(int128,int128,uint256,uint256)", 0, 1, 1000, 990)},
		{target: self, data: callData("setResolver(bytes32,address)", role, other)},
		{target: self, data: callData("delegate(address)", other)},
		{target: other, value: "1500000000000000000", data: "0x"},
		{target: other, data: "0x01020304"},
	}
	of := kinds[p.serial%len(kinds)]
	if of.value == "" {
		of.value = "0"
	}
	if of.data == pay {
		stated = "The treasury pays 25,000 USDC to " + other + "."
	}
	return []executableCall{{of.target, of.value, of.data, of.signature, "eip155:1"}}, stated
}

// contract returns the address of a contract of the DAO.
func (d *dao) contract(number int) string {
	return addressOf(deriveKey(d.key, streamContract, unsigned(number)), 0).lower()
}

// plugins returns the plugins of an off-chain vote, of which every eleventh executes a payment.
func (p *proposal) plugins() safePlugins {
	if p.serial%11 != 4 {
		return safePlugins{}
	}
	pay := callData("transfer(address,uint256)", p.dao.contract(1), 25_000_000_000)
	plan := safePlan{Network: "1", RealityAddress: p.dao.contract(2), Batches: [][]safeCall{{{usdc, "0", pay, "0"}}}}
	return safePlugins{&safeSnap{[]safePlan{plan}}}
}
