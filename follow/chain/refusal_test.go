package chain_test

import (
	"strings"
	"testing"

	"pnyx/follow/chain"
)

func TestRefusalsOfRangesAreUnderstood(t *testing.T) {
	t.Parallel()
	const asked = 20_000
	if got, _ := chain.RefusedSpan(&chain.RPCError{Message: "Block range limit exceeded"}, 10_000); got != 100 {
		t.Errorf("got %d blocks of Chainstack after 10,000 were refused, want 100", got)
	}
	for name, tt := range map[string]struct {
		code int64
		text string
		want uint64
	}{
		"Alchemy":                    {-32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x10, 0x73]", 100},
		"Infura":                     {-32005, "query returned more than 10000 results. Try with this block range [0x10, 0x73].", 100},
		"zkSync":                     {-32602, "Query returned more than 10000 results. Try with this block range [0x1, 0x64].", 100},
		"Nethermind":                 {-32602, `invalid params: "Query returned more than 50000 results. Try with this block range [0x10, 0x73]."`, 100},
		"1RPC, in other words":       {-32602, "eth_getLogs is limited to 0 - 50 blocks range", 50},
		"thirdweb":                   {-32005, "Log response size exceeded. Maximum allowed number of requested blocks is 1000", 1_000},
		"Cronos":                     {-32000, "maximum [from, to] blocks distance: 2000", 2_000},
		"Moonbeam":                   {-32603, "block range is too wide (maximum 1024)", 1_024},
		"Coinbase":                   {-32602, "please limit the query to at most 1,000 blocks", 1_000},
		"POKT":                       {-32064, "You cannot query logs for more than 10000 blocks at once.", 10_000},
		"a backend that takes long":  {-32001, "backend deadline exceeded", asked / 2},
		"Infura without a range":     {-32005, "query returned more than 10000 results", asked / 2},
		"QuickNode":                  {-32614, "eth_getLogs is limited to a 10,000 range", 10_000},
		"1RPC":                       {-32000, "eth_getLogs is limited to 9000 block", 9_000},
		"Ankr":                       {-32600, "block range is too wide", 3_000},
		"Cloudflare":                 {-32047, "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800", 800},
		"PublicNode":                 {-32701, "exceed maximum block range: 5000", 5_000},
		"Avalanche":                  {-32000, "requested too many blocks from 1 to 9000, maximum is set to 2048", 2_048},
		"Hyperliquid":                {-32602, "query exceeds max block range 1000", 1_000},
		"Aurora":                     {-32600, "You can make requests with up to a 2000 block range", 2_000},
		"Merkle":                     {-32000, "range is too large, max is 1k blocks", 1_000},
		"Chainstack":                 {-32000, "Block range limit exceeded. See more details at https://docs.example/limits", 10_000},
		"LlamaRPC":                   {-32602, "query exceeds max results 20000, retry with the range 23879634-23879696", 63},
		"dRPC":                       {35, "ranges over 10000 blocks are not supported on freetier", 10_000},
		"too many results":           {-32602, "query exceeds max results 20000", asked / 2},
		"too many logs":              {-32005, "logs matched by query exceeds limit of 10000", asked / 2},
		"a large response":           {-32000, "response size should not greater than 10000000 bytes", asked / 2},
		"a large backend response":   {-32011, "backend response too large", asked / 2},
		"a query that takes long":    {-32000, "query timeout exceeded", asked / 2},
		"Base":                       {-32011, "no backend is currently healthy to serve traffic", asked / 2},
		"a range that is too large":  {-32005, "block range too large", asked / 2},
		"more than what was refused": {-32602, "maximum block range: 50000", asked / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message, data, _ := strings.Cut(tt.text, ": \"")
			refused := &chain.RPCError{Code: tt.code, Message: message}
			if data != "" {
				refused.Data = []byte(`"` + data)
			}
			got, known := chain.RefusedSpan(refused, asked)
			if !known || got != tt.want || chain.IsLimit(refused) || chain.IsAhead(refused) || chain.IsGone(refused) {
				t.Errorf("got %d blocks, known %t, want %d and no other class", got, known, tt.want)
			}
		})
	}
}

func TestOtherRefusalsAreNotAboutTheRange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{ // of state that is gone
		"missing trie node 00ab (path ) state 0x12 is not available, not found", "historical state 0x12 is not available",
		"required historical state unavailable (reexec=128)", "historical state not available in path scheme yet", "No state available for block 0x12",
		"World state unavailable for block", "state at block #19000000 is pruned", "project ID does not have access to archive state",
		"Archive, Debug and trace requests are not available on your current plan", "distance to target block exceeds maximum proof window",
		"BlockOutOfRangeError: block height is 3784 but requested was 8", "metadata is not found",
	} {
		if refused := (&chain.RPCError{Code: -32000, Message: text}); chain.IsUnknown(refused) || chain.IsLimit(refused) {
			t.Errorf("%q is taken for a limit", text)
		}
	}
	for name, tt := range map[string]struct {
		code int64
		text string
		is   func(*chain.RPCError) bool
	}{
		"not an archive":           {-32000, "missing trie node 00ab (path ) state is not available", chain.IsGone},
		"pruned logs":              {4444, "history has been pruned for this block", chain.IsGone},
		"beyond the head":          {-32000, "invalid block range params", chain.IsAhead},
		"a replaced hash":          {-32000, "unknown block", chain.IsAhead},
		"beyond geth's head":       {-32602, "block range extends beyond current head block", chain.IsAhead},
		"beyond Erigon's head":     {-32000, "requested block range [4096, 8192] is beyond latest executed block 4000 (node is still syncing)", chain.IsAhead},
		"beyond Nethermind's head": {-32000, "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.", chain.IsAhead},
		"a header not found":       {-32000, "header not found", chain.IsAhead},
		"a limit on the rate":      {-32005, "daily request count exceeded, request rate limited", chain.IsLimit},
		"a limit in another words": {429, "Too many requests", chain.IsLimit},
		"Alchemy's limit":          {429, "Your app has exceeded its compute units per second capacity", chain.IsLimit},
		"QuickNode's limit":        {-32007, "50/second request limit reached - reduce calls per second", chain.IsLimit},
		"a limit and no more":      {-32005, "limit exceeded", chain.IsLimit},
		"a limit without a code":   {-32000, "daily quota reached", chain.IsLimit},
		"geth's stack":             {-32000, "stack limit reached 1024 (1023)", chain.IsReverted},
		"geth's copy":              {-32000, "evm: return data out of bounds", chain.IsReverted},
		"geth's gas":               {-32000, "gas uint64 overflow", chain.IsReverted},
		"Reth's stack":             {-32003, "EVM error: StackOverflow", chain.IsReverted},
		"Reth's copy":              {-32003, "EVM error: OutOfOffset", chain.IsReverted},
		"Reth's gas":               {-32003, "out of gas: gas required exceeds: 50000000", chain.IsReverted},
		"an unknown opcode":        {-32003, "EVM error: OpcodeNotFound", chain.IsReverted},
		"what nobody knows":        {-32099, "upstream exceeded its mood", chain.IsUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !tt.is(&chain.RPCError{Code: tt.code, Message: tt.text}) {
				t.Errorf("%q is not understood", tt.text)
			}
		})
	}
}
