package explore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pnyx/governance"
	"pnyx/governance/abi"
)

// dossierPart is what the page of a proposal shows of its dossier.
type dossierPart struct {
	// Evidence is the answer of the route; Pending says that the dossier is being computed.
	Evidence part[governance.Evidence]
	Pending  bool
	// Dossier is nil where there is none. Rejects says that its quorum is one of rejection.
	Dossier *governance.Dossier
	Rejects bool
	// Calls are the first calls, inner ones behind their callers, and MoreCalls how many are left out.
	Calls     []shownCall
	MoreCalls int
	// Warnings are what limits the whole, Sources the records that it rests on.
	Warnings []string
	Sources  []governance.DossierSource
}

type shownCall struct {
	governance.DossierAction

	// Place is "2.1" for the first call inside the second; Depth is 0 for what the proposal executes itself.
	Place string
	Depth int
}

func (p *proposalPage) loadDossier(v *visit) (err error) {
	d := &p.Dossier
	if d.Evidence, err = load[governance.Evidence](v, "proposals.evidence", texts{argProposal: p.Key}); err != nil || d.Evidence.Box != nil {
		return err
	}
	intelligence := d.Evidence.Data.Intelligence
	d.Pending = intelligence.Status == governance.IntelligencePending
	var read governance.Dossier
	// An analysis that was imported has a shape of its own.
	computed := intelligence.Status == governance.IntelligenceAvailable && json.Unmarshal(intelligence.Dossier, &read) == nil && read.Summary != ""
	if !computed {
		return nil
	}
	if err := json.Unmarshal(intelligence.SourceRefs, &d.Sources); err != nil {
		return fmt.Errorf("decode the sources of a dossier: %w", err)
	}
	if err := json.Unmarshal(intelligence.Warnings, &d.Warnings); err != nil {
		return fmt.Errorf("decode the warnings of a dossier: %w", err)
	}
	d.Dossier = &read
	d.addCalls(read.Actions, "", 0)
	return nil
}

func (d *dossierPart) addCalls(calls []governance.DossierAction, within string, depth int) {
	const maxCalls = 40 // how many calls a page shows; the route has all
	for i, call := range calls {
		place := fmt.Sprintf("%s%d", within, i+1)
		d.MoreCalls += call.Omitted
		if len(call.Calls) > 0 { // they are what the bytes are
			call.Arguments = slices.DeleteFunc(call.Arguments, func(a governance.DossierArgument) bool { return a.Type == "bytes" })
		}
		if len(d.Calls) < maxCalls {
			d.Calls = append(d.Calls, shownCall{call, place, depth})
		} else {
			d.MoreCalls++
		}
		d.addCalls(call.Calls, place+".", depth+1)
	}
}

// argument returns the value of an argument as text, cut for reading.
func argument(a governance.DossierArgument) string {
	const most = 120
	var text func(governance.DossierArgument) string
	text = func(a governance.DossierArgument) string {
		if a.AddressName != nil {
			return *a.Value + " (" + *a.AddressName + ")"
		}
		if a.Value != nil {
			return *a.Value
		}
		parts := make([]string, len(a.Items))
		for i, item := range a.Items {
			parts[i] = text(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if a.Unlimited {
		return "unlimited"
	}
	return governance.Shorten(text(a), most)
}

// exact returns every digit of a decimal, grouped.
func exact(d *governance.Decimal) string {
	if d == nil {
		return "unknown"
	}
	whole, fraction, broken := strings.Cut(string(*d), ".")
	sign, digits := "", whole
	if strings.HasPrefix(whole, "-") {
		sign, digits = "−", whole[1:]
	}
	if broken {
		fraction = "." + fraction
	}
	return sign + governance.GroupDigits(digits) + fraction
}

func token(t governance.DossierTransfer) string {
	of := ""
	if t.Amount != nil && t.Decimals == nil {
		of = "smallest units of "
	}
	switch {
	case t.Token == nil:
		return "native money"
	case t.Symbol != nil:
		return *t.Symbol
	case *t.Token == abi.Unstated:
		return of + "a token that the call does not name"
	}
	return of + brief(*t.Token)
}

// unstated says what of a payment the text does not state; empty if it states all, or cannot be told.
func unstated(in *governance.DossierInText) string {
	if in == nil {
		return ""
	}
	var lacks []string
	for _, one := range []struct {
		is   *bool
		name string
	}{{in.Recipient, "recipient"}, {in.Amount, "amount"}, {in.Target, "token or contract"}} {
		if one.is != nil && !*one.is {
			lacks = append(lacks, one.name)
		}
	}
	return strings.Join(lacks, ", ")
}
