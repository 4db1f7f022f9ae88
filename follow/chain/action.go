package chain

import (
	"slices"
	"strings"

	"pnyx/governance/abi"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// calldatas is the place of the calldata among the parameters of an event that states actions:
// targets, values and signatures precede it.
const calldatas = 5

// readActions reads the actions in the data of a log; nil if they are not coded as the event
// declares. Texts are read as bytes: what a proposal executes is known whatever its text is.
func readActions(types []string, data []byte) []*record.Action {
	at := slices.Index(types, "bytes[]")
	if at < calldatas-2 { // the targets are in a topic
		return nil
	}
	values, err := abi.DecodeValues("("+strings.ReplaceAll(strings.Join(types, ","), "string", "bytes")+")", data)
	if err != nil {
		return nil
	}
	targets := values[at-3].Items
	actions := make([]*record.Action, len(targets))
	for _, column := range values[at-2 : at+1] {
		if len(column.Items) != len(targets) {
			return nil
		}
	}
	for i, target := range targets {
		signature := string(values[at-1].Items[i].Bytes())
		if len(signature) > record.MaxSignature {
			return nil
		}
		actions[i] = &record.Action{
			Target: target.Value, Value: values[at-2].Items[i].Value, Signature: validText(signature), Calldata: values[at].Items[i].Bytes(),
		}
	}
	return actions
}

func (p *proposal) execute(l records.ChainLog, actions []*record.Action) {
	p.actions = actions
	for _, a := range actions {
		a.Block, a.TxHash, a.LogIndex = l.BlockNumber, l.TxHash, l.LogIndex
	}
}

// setActions adds what a proposal executes to its record. A proposal whose votes a module counts
// states data of the module instead, which says nothing.
func (p *proposal) setActions(r *record.Proposal) {
	if p.actions == nil {
		return
	}
	chain := r.SourceID[:strings.LastIndexByte(r.SourceID, ':')]
	for _, a := range p.actions {
		a.Chain = chain
	}
	r.SetActions(len(p.actions), p.actions)
}
