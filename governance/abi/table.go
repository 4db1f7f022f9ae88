package abi

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Kind says what a function is for.
type Kind string

// The kinds of functions.
const (
	Transfer          Kind = "transfer"
	Approval          Kind = "approval"
	MintBurn          Kind = "mint_burn"
	Role              Kind = "role"
	Ownership         Kind = "ownership"
	Upgrade           Kind = "upgrade"
	GovernanceSetting Kind = "governance_setting"
	Timelock          Kind = "timelock"
	Parameter         Kind = "parameter"
	Bridge            Kind = "bridge"
	Batch             Kind = "batch"
	Safe              Kind = "safe"
	Stream            Kind = "stream"
	Swap              Kind = "swap"
	ENS               Kind = "ens"
	Other             Kind = "other"
)

// Kinds returns every Kind.
func Kinds() []Kind {
	return []Kind{
		Transfer, Approval, MintBurn, Role, Ownership, Upgrade, GovernanceSetting, Timelock, Parameter, Bridge, Batch, Safe, Stream,
		Swap, ENS, Other,
	}
}

// Selector begins the data of a call.
type Selector [4]byte

// function is a row of functions.txt.
type function struct {
	kind      Kind
	signature string // canonical
	inputs    []parameter
	// targets are the only addresses that the row applies to; none for all.
	targets []string
	// token is what the targets move where no argument names it.
	token string
	inner inner
}

func (f *function) appliesTo(call Call) bool {
	return len(f.targets) == 0 || slices.Contains(f.targets, call.Target)
}

// NamesTarget reports whether the table has a row of a function for a contract itself, so that what it does is known.
func NamesTarget(signature, target string) bool {
	return slices.ContainsFunc(known().functions[SelectorOf(signature)], func(f *function) bool { return slices.Contains(f.targets, target) })
}

// table has the functions by selector, and the layouts of messages without one.
type table struct {
	functions map[Selector][]*function
	layouts   []*function
	// bridges are chains by chain and address of a bridge, or by system and number.
	bridges map[[2]string]string
}

//go:embed functions.txt
var functionRows string

//go:embed bridges.txt
var bridgeRows string

// known returns the table. A test finds rows that cannot be read.
var known = sync.OnceValue(func() *table { //nolint:gochecknoglobals // a constant that Go cannot write as one
	t := &table{functions: map[Selector][]*function{}, bridges: map[[2]string]string{}}
	for row := range rows(functionRows) {
		if err := t.add(row); err != nil {
			panic(fmt.Sprintf("functions.txt: %q: %v", row, err))
		}
	}
	for row := range rows(bridgeRows) {
		bridge := strings.Fields(row)
		t.bridges[[2]string{bridge[0], bridge[1]}] = bridge[2]
	}
	return t
})

// rows returns the lines of a file that are neither empty nor comments.
func rows(file string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(file) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

func (t *table) add(row string) error {
	kind, rest, _ := strings.Cut(row, " ")
	rest, form, _ := strings.Cut(rest, " -> ")
	signature, targets, restricted := strings.Cut(rest, " for ")
	name, inputs, canonical, err := parseSignature(signature)
	if err != nil {
		return err
	}
	targets, token, _ := strings.Cut(targets, " of ")
	f := &function{kind: Kind(kind), signature: canonical, inputs: inputs, token: token}
	if restricted {
		f.targets = strings.Split(targets, ",")
	}
	if f.inner, err = parseInner(form, inputs); err != nil {
		return err
	}
	if name == "" {
		t.layouts = append(t.layouts, f)
		return nil
	}
	of := SelectorOf(canonical)
	if !restricted && slices.ContainsFunc(t.functions[of], func(other *function) bool { return other.signature == canonical }) {
		return fmt.Errorf("%s is there twice", canonical)
	}
	t.functions[of] = append(t.functions[of], f)
	slices.SortStableFunc(t.functions[of], func(a, b *function) int { return len(b.targets) - len(a.targets) })
	return nil
}

// SelectorOf returns the selector of a canonical signature.
func SelectorOf(signature string) Selector {
	return Selector(Keccak([]byte(signature))[:len(Selector{})])
}

// stated returns the function with a stated signature: the row of the table, or one without names and kind.
func (t *table) stated(call Call) (*function, error) {
	_, inputs, canonical, err := parseSignature(call.Signature)
	if err != nil {
		return nil, err
	}
	for _, f := range t.functions[SelectorOf(canonical)] {
		if f.signature == canonical && f.appliesTo(call) {
			return f, nil
		}
	}
	return &function{kind: Other, signature: canonical, inputs: inputs}, nil
}
