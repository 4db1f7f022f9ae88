package dossier

import (
	"slices"
	"strings"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/records"
)

// Concerned returns the addresses that the actions pay, and the contracts whose settings they change.
func (f *Facts) Concerned() (addresses []string) {
	for i := range f.Actions {
		decoded := records.DecodeAction(&f.Actions[i])
		decoded.Visit(func(d *abi.Decoded) {
			for _, p := range d.Payments() {
				addresses = append(addresses, p.To)
			}
			if _, is := settingOf(d); is {
				addresses = append(addresses, d.Target)
			}
		})
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// history is what the DAO's executed proposals did before.
type history struct {
	// paid are the proposals that paid an address last, settings the values that were set last.
	paid     map[string]governance.ProposalKey
	settings map[string]string
}

func historyOf(f Facts) history {
	h := history{map[string]governance.ProposalKey{}, map[string]string{}}
	for i := range f.Before {
		decoded := records.DecodeAction(&f.Before[i].Action)
		inOne := map[string]string{} // of several in one action, the last counts
		decoded.Visit(func(d *abi.Decoded) {
			for _, p := range d.Payments() {
				if _, is := h.paid[p.To]; !is {
					h.paid[p.To] = f.Before[i].ProposalKey
				}
			}
			if setting, is := settingOf(d); is {
				inOne[setting.key] = setting.value
			}
		})
		for key, value := range inOne {
			if _, is := h.settings[key]; !is {
				h.settings[key] = value
			}
		}
	}
	return h
}

// setting is a value that a call sets.
type setting struct {
	// key is where: chain, contract, function, and what precedes the value. value is the last argument.
	key, value string
}

// settingOf returns what a call sets, if it sets one.
func settingOf(d *abi.Decoded) (s setting, is bool) {
	switch d.Kind {
	case abi.GovernanceSetting, abi.Timelock, abi.Parameter, abi.ENS:
	default:
		return s, false
	}
	last := len(d.Arguments) - 1
	if len(d.Calls) > 0 || last < 0 {
		return s, false
	}
	key := []string{d.Chain, d.Target, d.Function}
	for _, a := range d.Arguments[:last] {
		key = append(key, valueOf(a))
	}
	return setting{strings.Join(key, " "), valueOf(d.Arguments[last])}, true
}
