// Package x402 takes payments per request by version 2 of the x402 protocol: the
// scheme "exact" with EIP-3009 tokens on an EVM network, through a facilitator
// that checks and submits the transfers.
//
// A payment is claimed in Redis before any work is done for it, checked by the
// facilitator, and charged once the answer is there and before it is sent:
//
//	claimed ─verify─▶ answered ─▶ settling ─▶ settled │ refused │ unknown
//
// One authorization pays for one request. Who asks again with it gets the first
// answer again. A settlement without an answer is neither a success nor a
// failure: it is looked into until its outcome is known.
package x402

// version is the version of the protocol that is spoken.
const version = 2

// scheme is the way to pay that is offered.
const scheme = "exact"

// The headers of the protocol.
const (
	HeaderRequired = "PAYMENT-REQUIRED"
	HeaderPayment  = "PAYMENT-SIGNATURE"
	HeaderReceipt  = "PAYMENT-RESPONSE"
)
