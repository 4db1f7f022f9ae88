package governance

// PaymentState is the state of a payment for one response.
type PaymentState string

// The states of a payment. Before it settles a payment is claimed for one request;
// from settling on it may have been charged, and is in the ledger.
const (
	PaymentClaimed PaymentState = "claimed"
	// PaymentSettling is a payment that was submitted for settlement, with an outcome that is not known yet.
	PaymentSettling PaymentState = "settling"
	PaymentSettled  PaymentState = "settled"
	// PaymentRefused is a payment that was not charged, and can no longer be for this request.
	PaymentRefused PaymentState = "refused"
	// PaymentUnknown is a payment that an operator has to reconcile: its outcome was not known while it was valid.
	PaymentUnknown PaymentState = "unknown"
)

// PaymentStates lists the states that the ledger stores.
func PaymentStates() []PaymentState {
	return []PaymentState{PaymentSettling, PaymentSettled, PaymentRefused, PaymentUnknown}
}

// Payment is one payment for one response.
type Payment struct {
	// ID is the authorization that can be charged once: network, token, payer and nonce in lower case.
	ID    string       `msgpack:"id"`
	State PaymentState `msgpack:"state"`
	// Revision grows with every change of the payment, and with every claim.
	Revision uint64 `msgpack:"revision"`
	RouteID  string `msgpack:"routeId"`
	// Request and Header are hashes of the request that is paid for, and of the header that it was paid with.
	Request string `msgpack:"request"`
	Header  string `msgpack:"header"`
	Payer   string `msgpack:"payer"`
	PayTo   string `msgpack:"payTo"`
	Nonce   string `msgpack:"nonce"`
	// Network is eip155:<chain id>, and Asset the contract of the token.
	Network string `msgpack:"network"`
	Asset   string `msgpack:"asset"`
	Symbol  string `msgpack:"symbol"`
	// Amount is in whole tokens, and Units the same in the smallest unit of the token, an integer.
	Amount string `msgpack:"amount"`
	Units  string `msgpack:"units"`
	// ValidBefore is when the authorization expires, and SettledAt when it was charged; nil until then.
	ValidBefore Timestamp  `msgpack:"validBefore"`
	ClaimedAt   Timestamp  `msgpack:"claimedAt"`
	ChangedAt   Timestamp  `msgpack:"changedAt"`
	SettledAt   *Timestamp `msgpack:"settledAt"`
	// Transaction is the hash of the transfer, once known, and Reason why it was refused or what is unknown.
	Transaction string `msgpack:"transaction"`
	Reason      string `msgpack:"reason"`
	Attempts    int    `msgpack:"attempts"`
	// Unanswered says that an attempt was not answered.
	Unanswered bool `msgpack:"unanswered"`
	// Settlement is what an attempt sends, for as long as another may follow.
	Settlement []byte `msgpack:"settlement"`
}
