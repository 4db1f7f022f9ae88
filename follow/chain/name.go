package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// names reads primary names of the Ethereum Name Service. One counts if its own record leads back to the address.
type names struct{ *Chain }

func (c names) poller(journal *follow.Journal) follow.Poller {
	asking := &follow.Names{Journal: journal, Source: governance.NameOfENS, Provider: governance.Governor, Ask: c.primaryNames}
	poller := asking.Poller()
	poller.Run = c.Chain.poller(poller.Run)
	return poller
}

// primaryNames returns the primary names of addresses, those in normal form alone, as of the final block.
func (c names) primaryNames(ctx context.Context, addresses []string) (map[string]record.Name, error) {
	block := latest
	if final := c.at().final.Number; final > 0 {
		block = hexOf(final)
	}
	nodes := warehouse.Values(addresses, func(address string) *big.Int { return nodeOf(strings.TrimPrefix(address, "0x") + ".addr.reverse") })
	stated, err := c.resolve(ctx, block, nodes, "name(bytes32)", "string")
	if err != nil {
		return nil, err
	}
	found := map[string]record.Name{}
	var owners []string
	var named []*big.Int
	for i, address := range addresses {
		name, _ := stated[i].(string) // nil where there is none
		if name == "" || len(name) > governance.MaxName || !isNormal(name) {
			continue
		}
		found[address] = record.Name{Name: name}
		owners, named = append(owners, address), append(named, nodeOf(name))
	}
	forward, err := c.resolve(ctx, block, named, "addr(bytes32)", "address")
	if err != nil {
		return nil, err
	}
	for i, owner := range owners {
		name := found[owner]
		name.Verified = forward[i] == owner
		found[owner] = name
	}
	return found, nil
}

// resolve asks the resolver of each node; a result is nil where there is no resolver, or it has none.
func (c names) resolve(ctx context.Context, block string, nodes []*big.Int, signature, result string) ([]any, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	resolvers, held, err := c.client.askAt(ctx, block, warehouse.Values(nodes, func(node *big.Int) method {
		return method{to: strings.ToLower(c.NameRegistry), signature: "resolver(bytes32)", args: []*big.Int{node}, result: "address"}
	})...)
	if err == nil && !held {
		err = fmt.Errorf("no endpoint has the state of block %s", block) // the poller retries at a later one
	}
	if err != nil {
		return nil, err
	}
	var at []int
	var asked []method
	for i, resolver := range resolvers {
		if address, ok := resolver.(string); ok && address != zeroAddress {
			at, asked = append(at, i), append(asked, method{to: address, signature: signature, args: []*big.Int{nodes[i]}, result: result})
		}
	}
	said, err := c.askResolvers(ctx, block, asked)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(nodes))
	for i, value := range said {
		results[at[i]] = value
	}
	return results, nil
}

// askResolvers asks contracts that anybody may have made, at a block whose state an endpoint has. A contract that
// no endpoint can answer for, in time or in size, states nothing.
func (c names) askResolvers(ctx context.Context, block string, methods []method) ([]any, error) {
	said, held, err := c.client.askAt(ctx, block, methods...)
	refused, is := errors.AsType[*rpcError](err)
	switch isOfCall := is && !refused.isLimit() || errors.Is(err, fetch.ErrTooLarge); {
	case err != nil && !isOfCall, err == nil && held, len(methods) == 0:
		return said, err
	case len(methods) == 1:
		return []any{nil}, nil
	}
	half := len(methods) / 2
	some, err := c.askResolvers(ctx, block, methods[:half])
	if err != nil {
		return nil, err
	}
	others, err := c.askResolvers(ctx, block, methods[half:])
	return append(some, others...), err
}

// nodeOf returns the node of a name: the hash of its labels, from the last to the first.
func nodeOf(name string) *big.Int {
	node := make([]byte, wordBytes)
	for _, label := range slices.Backward(strings.Split(name, ".")) {
		node = abi.Keccak(slices.Concat(node, abi.Keccak([]byte(label))))
	}
	return new(big.Int).SetBytes(node)
}

// isNormal reports whether a name is in normal form: another spelling is another node, and may look the same.
func isNormal(name string) bool {
	profile := idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.Transitional(false))
	name = governance.WithoutJoiners(name)
	normal, err := profile.ToUnicode(name)
	return err == nil && normal == name && !strings.Contains("."+name+".", "..") && !strings.Contains(name, " ")
}
