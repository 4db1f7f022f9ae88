package abi

import (
	"math/big"
	"slices"
	"strings"
)

// Payment is money that a call moves, as the call states it.
type Payment struct {
	// Token is the token's address; empty for the native one.
	Token string
	// Amount is in smallest units, in decimal; empty for all there is, or what follows at a rate.
	Amount string
	// From is empty for the executor, To who receives it.
	From, To string
}

// argument returns the first argument with one of the names, in tuples as well.
func argument(arguments []Argument, names ...string) (*Argument, bool) {
	for i := range arguments {
		for _, name := range names {
			if arguments[i].Name == name && arguments[i].Value != "" {
				return &arguments[i], true
			}
		}
	}
	for i := range arguments {
		if !strings.HasPrefix(arguments[i].Type, "(") || strings.HasSuffix(arguments[i].Type, "]") {
			continue
		}
		if found, is := argument(arguments[i].Items, names...); is {
			return found, true
		}
	}
	return nil, false
}

// Argument returns the value of the first argument with one of the names; empty for none.
func (d *Decoded) Argument(names ...string) string {
	if found, is := argument(d.Arguments, names...); is {
		return found.Value
	}
	return ""
}

// Payments returns the money that a call moves itself, without the calls inside: native money
// with the call, unless the function or a call inside hands it on, and tokens that the function
// moves.
func (d *Decoded) Payments() (payments []Payment) {
	payments = d.moved()
	handsOn := slices.ContainsFunc(payments, func(p Payment) bool { return p.Token == "" })
	kept := d.Value
	for i := range d.Calls {
		kept = remaining(kept, d.Calls[i].Value)
	}
	if kept != "0" && kept != "" && !handsOn {
		payments = append([]Payment{{Amount: kept, To: d.Target}}, payments...)
	}
	return payments
}

// remaining returns what is left of an amount, at least nothing. What is no number stays.
func remaining(of, taken string) string {
	rest, isNumber := new(big.Int).SetString(of, 10)
	less, isNumber2 := new(big.Int).SetString(taken, 10)
	if !isNumber || !isNumber2 {
		return of
	}
	if rest.Sub(rest, less).Sign() < 0 {
		return "0"
	}
	return rest.String()
}

// moved returns the money that a function moves. What is minted leaves nobody.
func (d *Decoded) moved() (payments []Payment) {
	name, _, isCall := strings.Cut(d.Function, "(")
	if !isCall || d.Kind != Transfer && d.Kind != Stream && d.Kind != Bridge || name == "mint" {
		return nil
	}
	token := d.token()
	var recipients, amounts []Argument
	for i := range d.Arguments {
		switch a := &d.Arguments[i]; {
		case a.Name == "recipients":
			recipients = a.Items
		case a.Name == "amounts":
			amounts = a.Items
		case strings.HasPrefix(a.Type, "(") && strings.HasSuffix(a.Type, "]"):
			for _, part := range a.Items {
				to, hasTo := argument(part.Items, "to")
				amount, hasAmount := argument(part.Items, "amount")
				if hasTo && hasAmount {
					inside := Decoded{Call: Call{Target: token}, Arguments: part.Items}
					payments = append(payments, Payment{Token: inside.token(), Amount: amount.Value, From: inside.Argument("from"), To: to.Value})
				}
			}
		}
	}
	for i := range min(len(recipients), len(amounts)) {
		payments = append(payments, Payment{Token: token, Amount: amounts[i].Value, To: recipients[i].Value})
	}
	to, amount := d.Argument("to", "recipient"), d.Argument("amount", "cliffAmount")
	isBridge := d.Kind == Bridge
	if amount == "" && d.Value != "0" && d.Value != "" && len(d.Calls) == 0 && (isBridge || token == "") {
		token, amount = "", d.Value
	}
	if isBridge && to == "" && token != d.Target {
		to = d.Target
	}
	if to == "" || isBridge && amount == "" && (token == "" || token == d.Target) {
		return payments
	}
	return append(payments, Payment{Token: token, Amount: amount, From: d.Argument("from"), To: short(to)})
}

// short returns an address of 20 bytes that is written in 32.
func short(address string) string {
	const prefix, digits = len("0x"), 40
	if len(address) <= prefix+digits {
		return address
	}
	return "0x" + address[len(address)-digits:]
}

// token returns the token that a call moves: an argument, or the called contract; empty for
// native money.
func (d *Decoded) token() string {
	name, _, _ := strings.Cut(d.Function, "(")
	for _, native := range []string{"eth", "ether", "native", "bnb"} {
		if strings.HasSuffix(strings.ToLower(name), native) {
			return ""
		}
	}
	token := d.Argument("token", "asset", "l1Token", "localToken")
	switch token {
	case "":
		return d.Target
	case "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee", "0x0000000000000000000000000000000000000000": // stand for native money
		return ""
	}
	return token
}
