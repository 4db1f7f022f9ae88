package abi

import (
	"encoding/hex"
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
	// Proceeds is true for money that comes from others, as of a swap: where To is the caller, nothing leaves.
	Proceeds bool
}

// Unstated stands for a token that a call does not name.
const Unstated = "unstated"

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

// Payments returns the money that a call moves itself, without the calls inside: tokens that the function moves,
// and native money, unless the function or a call inside hands it on.
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
	if d.Kind == Swap {
		return d.proceeds(name)
	}
	if price := d.Argument("gasPrice"); d.Kind == Safe && price != "" && price != "0" { // a Safe refunds gas
		return []Payment{{Token: nativeOr(d.Argument("gasToken")), From: d.Target, To: d.Argument("refundReceiver")}}
	}
	if !isCall || d.Kind != Transfer && d.Kind != Stream && d.Kind != Bridge || d.Kind == Stream && d.ends(name) {
		return nil
	}
	if name == "ccipSend" {
		message := d.Arguments[1].Items
		for _, part := range message[2].Items {
			payments = append(payments, Payment{Token: part.Items[0].Value, Amount: part.Items[1].Value, To: short(message[0].Value)})
		}
		return payments
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
	fromOthers := d.Kind != Bridge && slices.ContainsFunc([]string{
		"claim", "collect", "withdraw", "redeem", "exit", "unwrap", "sweep", "rescue", "recover", "recall", "clawback", "request", "stake", "join", "lock(",
		"create_lock", "deposit(uint256,address)", "depositFor(", "deposit_for", "submitAndDeposit", "mint(",
	}, func(prefix string) bool { return strings.HasPrefix(d.Function, prefix) })
	for i, recipient := range recipients {
		of := Payment{Token: token, To: recipient.Value, Proceeds: fromOthers}
		if i < len(amounts) {
			of.Amount = amounts[i].Value
		}
		payments = append(payments, of)
	}
	to, amount := d.Argument("to", "recipient"), d.Argument("amount", "cliffAmount")
	isBridge := d.Kind == Bridge
	if amount == "" && d.Value != "0" && d.Value != "" && len(d.Calls) == 0 && (isBridge || token == "") {
		token, amount = "", d.Value
	}
	if isBridge && to == "" && token != d.Target {
		to = d.Target
	}
	if to == "" || strings.HasPrefix(name, "requestWithdrawals") && nativeOr(to) == "" || isBridge && amount == "" && (token == "" || token == d.Target) {
		return payments
	}
	if amount == maxUint(256) {
		amount = "" // all there is
	}
	payments = append(payments, Payment{Token: token, Amount: amount, From: d.Argument("from"), To: short(to), Proceeds: fromOthers})
	if fee := d.Argument("fee"); d.Kind == Stream && fee != "" && fee != "0" { // of a broker
		payments = append(payments, Payment{Token: token, To: d.Argument("account")})
	}
	return payments
}

// ends reports whether a call ends or halts a stream.
func (d *Decoded) ends(name string) bool {
	return strings.HasPrefix(name, "cancel") || strings.HasPrefix(name, "pause") || strings.HasPrefix(name, "delete") ||
		d.Argument("flowRate") == "0" && !strings.HasPrefix(name, "create")
}

// proceeds returns what a swap, or what takes liquidity away, gives to a stated recipient other than who pays.
// Exchanges write 0, 1 and 2 for the caller and themselves.
func (d *Decoded) proceeds(name string) (payments []Payment) {
	to := d.Argument("to", "receiver")
	if strings.HasPrefix(name, "cancel") || strings.HasPrefix(name, "unsign") || len(strings.TrimLeft(to, "0x")) < 2 || to == d.Argument("sender") {
		return nil
	}
	tokens, amount := []string{d.Argument("tokenOut", "toToken", "buyToken", "dstToken", "outputToken", "assetOut")}, d.Argument("amountOut")
	path, _ := argument(d.Arguments, "path")
	for i := range d.Arguments {
		if a := &d.Arguments[i]; a.Name == "path" && len(a.Items) > 0 {
			tokens[0] = a.Items[len(a.Items)-1].Value
		}
	}
	const bytes = 20 // of an address
	switch {
	case strings.Contains(name, "ForETH"), strings.Contains(name, "ForExactETH"):
		tokens[0] = ""
	case name == "removeLiquidity":
		tokens = []string{d.Argument("tokenA"), d.Argument("tokenB")}
	case name == "removeLiquidityETH":
		tokens = []string{d.Argument("token"), ""}
	case name == "mint": // a position
		tokens[0] = d.Target
	case path != nil && len(path.content) >= bytes && strings.HasPrefix(name, "exactOutput"):
		tokens[0] = "0x" + hex.EncodeToString(path.content[:bytes])
	case path != nil && len(path.content) >= bytes:
		tokens[0] = "0x" + hex.EncodeToString(path.content[len(path.content)-bytes:])
	case tokens[0] == "":
		tokens[0] = Unstated
	}
	for _, token := range tokens {
		payments = append(payments, Payment{Token: nativeOr(token), Amount: amount, To: to, Proceeds: true})
	}
	return payments
}

// nativeOr returns a token; empty for what stands for native money.
func nativeOr(token string) string {
	if token == "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee" || strings.Trim(token, "0x") == "" {
		return ""
	}
	return token
}

// short returns an address of 20 bytes that is written in 32. Other chains have longer ones.
func short(address string) string {
	const digits = 40
	high := len(address) - digits
	if high < 0 || strings.Trim(address[:high], "0x") != "" {
		return address
	}
	return "0x" + address[high:]
}

// token returns the token that a call moves, which may be the called contract; empty for native money.
func (d *Decoded) token() string {
	name, _, _ := strings.Cut(d.Function, "(")
	for _, native := range []string{"ETH", "Eth", "Ether", "Native", "BNB"} {
		if at := strings.LastIndex(name, native); at >= 0 && (d.Kind == Transfer || at+len(native) == len(name)) {
			return ""
		}
	}
	if d.moves != "" {
		return d.moves
	}
	token := d.Argument("token", "asset", "l1Token", "localToken", "reward")
	if token != "" {
		return nativeOr(token)
	}
	// The names of functions that move the called contract itself begin so.
	ofTokens := []string{"transfer", "safeTransfer", "safeBatchTransfer", "batchTransfer", "multiTransfer", "receiveWithAuthorization", "move", "push", "deposit", "allocateTo"}
	isOfToken := slices.ContainsFunc(ofTokens, func(of string) bool { return strings.HasPrefix(name, of) })
	// Code that runs in the caller's name moves another token than the contract that has it.
	managers := []string{"transfer(", "transferRemote(", "bridgeToRecipient(", "sendToL2(", "send(uint256,", "sendToken(", "callContractWithToken(", "relayTokens("}
	isOfManager := d.Kind == Bridge && slices.ContainsFunc(managers, func(of string) bool { return strings.HasPrefix(d.Function, of) }) // of a token, and is none
	if d.Kind == Transfer && !isOfToken || d.Kind == Stream && name != "upgradeTo" || d.Operation == DelegateCall || isOfManager {
		return Unstated
	}
	return d.Target
}
