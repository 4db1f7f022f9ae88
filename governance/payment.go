package governance

// PaymentState is the state of a payment for one response.
type PaymentState string

// The states of a payment. Before it settles a payment is claimed for one request;
// from settling on it may have been charged, and is in the ledger.
const (
	// PaymentClaimed is a payment whose request is being handled.
	PaymentClaimed PaymentState = "claimed"
	// PaymentSettling is a payment that was submitted for settlement, with an outcome
	// that is not known yet.
	PaymentSettling PaymentState = "settling"
	// PaymentSettled is a payment that was charged.
	PaymentSettled PaymentState = "settled"
	// PaymentRefused is a payment that was not charged, and can no longer be for this request.
	PaymentRefused PaymentState = "refused"
	// PaymentUnknown is a payment whose outcome could not be determined while it was
	// valid, and which an operator has to reconcile.
	PaymentUnknown PaymentState = "unknown"
)

// PaymentStates lists the states that the ledger stores.
func PaymentStates() []PaymentState {
	return []PaymentState{PaymentSettling, PaymentSettled, PaymentRefused, PaymentUnknown}
}

// Payment is one payment for one response.
type Payment struct {
	// ID is the authorization that can be charged once: network, token, payer and
	// nonce in lower case.
	ID    string       `msgpack:"id"`
	State PaymentState `msgpack:"state"`
	// Revision grows with every change of the payment, and with every claim.
	Revision uint64 `msgpack:"revision"`
	RouteID  string `msgpack:"routeId"`
	// Request is the hash of the request that is paid for.
	Request string `msgpack:"request"`
	// Header is the hash of the header that it was paid with.
	Header string `msgpack:"header"`
	Payer  string `msgpack:"payer"`
	// PayTo is the address that is paid.
	PayTo string `msgpack:"payTo"`
	Nonce string `msgpack:"nonce"`
	// Network is the chain, as eip155:<chain id>.
	Network string `msgpack:"network"`
	// Asset is the contract of the token.
	Asset  string `msgpack:"asset"`
	Symbol string `msgpack:"symbol"`
	// Amount is the amount in whole tokens, a decimal.
	Amount string `msgpack:"amount"`
	// Units is the same amount in the smallest unit of the token, an integer.
	Units string `msgpack:"units"`
	// ValidBefore is when the authorization expires.
	ValidBefore Timestamp `msgpack:"validBefore"`
	// ClaimedAt is when a request claimed the payment.
	ClaimedAt Timestamp `msgpack:"claimedAt"`
	// ChangedAt is when the state last changed.
	ChangedAt Timestamp `msgpack:"changedAt"`
	// SettledAt is when it was charged; nil until then.
	SettledAt *Timestamp `msgpack:"settledAt"`
	// Transaction is the hash of the transfer, once known.
	Transaction string `msgpack:"transaction"`
	// Reason is why the payment was refused, or what is not known of it.
	Reason string `msgpack:"reason"`
	// Attempts counts the attempts to settle the payment.
	Attempts int `msgpack:"attempts"`
	// Unanswered says that one of these attempts was not answered.
	Unanswered bool `msgpack:"unanswered"`
	// Settlement is what an attempt sends, for as long as another may follow.
	Settlement []byte `msgpack:"settlement"`
}
