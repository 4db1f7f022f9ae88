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
	decoded := f.decode()
	for i := range decoded {
		decoded[i].Visit(func(d *abi.Decoded) {
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

type history struct {
	// paid are the proposals that last paid an address of a chain, settings the values shown or set last.
	paid     map[[2]string]governance.ProposalKey
	settings map[string]string
}

func historyOf(f Facts) history {
	h := history{map[[2]string]governance.ProposalKey{}, map[string]string{}}
	for i := range f.Before {
		decoded := records.DecodeAction(&f.Before[i].Action)
		inOne := map[string]string{} // of several in one action, the last counts
		decoded.Visit(func(d *abi.Decoded) {
			for _, p := range d.Payments() {
				to := [2]string{d.Chain, p.To}
				if _, is := h.paid[to]; !is {
					h.paid[to] = f.Before[i].ProposalKey
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
	if f.Observed != nil {
		for _, a := range f.Observed.Addresses {
			for function, value := range a.Settings {
				h.settings[strings.Join([]string{f.chain(), a.Address, function}, " ")] = value
			}
		}
	}
	return h
}

type setting struct {
	// key is chain, contract, function and the leading arguments that say which setting it is; empty for what
	// replaces no value. value are the other arguments.
	key, value string
}

func settingOf(d *abi.Decoded) (s setting, is bool) {
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(strings.TrimLeft(d.Function, "_"), prefix) })
	}
	switch d.Kind {
	case abi.GovernanceSetting, abi.Timelock, abi.Parameter:
		is = !begins("cancel", "exec", "queue", "propose", "drop", "plot", "schedule", "submit", "create", "relay", "drip", "lock", "initiate", "accept")
	case abi.ENS:
		is = begins("set")
	case abi.Safe:
		is = begins("set", "change") && d.Receiver() == ""
	default:
	}
	last := len(d.Arguments) - 1
	if !is || len(d.Calls) > 0 || last < 0 {
		return s, false
	}
	first := slices.IndexFunc(d.Arguments, func(a abi.Argument) bool { return !saysWhich(a) })
	if first < 0 {
		first = last
	}
	key := []string{d.Chain, d.Target, d.Function}
	for _, a := range d.Arguments[:first] {
		key = append(key, valueOf(a))
	}
	s = setting{strings.Join(key, " "), valueOf(abi.Argument{Items: d.Arguments[first:]})}
	if first == last {
		s.value = valueOf(d.Arguments[last])
	}
	if !begins("set", "update", "change", "unsafe", "file(", "modify", "configure", "edit", "ramp", "commit", "override", "govSet", "proposalSet", "bootstrapSet", "pause(bool") {
		s.key = "" // what is added or removed replaces nothing
	}
	return s, true
}

func saysWhich(a abi.Argument) bool {
	switch {
	case a.Type == "address":
		return !slices.Contains([]string{"owner", "resolver", "feed"}, a.Name)
	case strings.HasPrefix(a.Type, "bytes") && a.Type != "bytes" && !strings.HasSuffix(a.Type, "]"):
		return true
	}
	return slices.Contains([]string{
		"id", "key", "path", "contractName", "coinType", "contentType", "chainId", "eid", "label", "gameType", "feeTier", "pid", "poolId", "tokenId",
		"hatId", "proposalId", "index", "domain", "symbol", "identifier", "family",
	}, a.Name)
}
