package abi

import "strings"

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
// with the call, and tokens that the function moves.
func (d *Decoded) Payments() (payments []Payment) {
	if d.Value != "0" && d.Value != "" && len(d.Calls) == 0 {
		payments = append(payments, Payment{Amount: d.Value, To: d.Target})
	}
	if d.Function == "" || d.Kind != Transfer && d.Kind != Stream && d.Kind != MintBurn && d.Kind != Bridge {
		return payments
	}
	recipients, amounts, token := d.lists()
	for i := range min(len(recipients), len(amounts)) {
		payments = append(payments, Payment{Token: token, Amount: amounts[i].Value, To: recipients[i].Value})
	}
	to := d.Argument("to", "recipient")
	if to == "" || strings.HasPrefix(d.Function, "mint(") {
		return payments
	}
	if len(to) > 42 { // an address in 32 bytes
		to = "0x" + to[len(to)-40:]
	}
	amount := d.Argument("amount", "cliffAmount")
	if !strings.Contains(d.Function, "(") || amount == "" && d.Kind == Bridge {
		return payments
	}
	return append(payments, Payment{Token: d.token(), Amount: amount, From: d.Argument("from"), To: to})
}

// token returns the token that a call moves: an argument, or the called contract. Functions that
// send native money have neither.
func (d *Decoded) token() string {
	name, _, _ := strings.Cut(d.Function, "(")
	for _, native := range []string{"eth", "ether", "native", "bnb"} {
		if strings.HasSuffix(strings.ToLower(name), native) {
			return ""
		}
	}
	if token := d.Argument("token", "asset", "l1Token", "localToken"); token != "" {
		return token
	}
	return d.Target
}

// lists returns the parallel lists of recipients and amounts of a function that pays many.
func (d *Decoded) lists() (recipients, amounts []Argument, token string) {
	for _, a := range d.Arguments {
		switch a.Name {
		case "recipients":
			recipients = a.Items
		case "amounts":
			amounts = a.Items
		}
	}
	return recipients, amounts, d.token()
}
