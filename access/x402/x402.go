// Package x402 accepts payments per request by version 2 of the x402 protocol: the scheme
// "exact" with EIP-3009 tokens on an EVM network, through a facilitator that verifies and
// submits the transfers. [Gate] is its entry point; [Gate.Begin] returns a [Charge].
//
// A payment is claimed in Redis before any work is done for it, verified by the
// facilitator, and charged after the response is built and before it is sent:
//
//	claimed ─verify─▶ answered ─▶ settling ─▶ settled │ refused │ unknown
//
// One authorization pays for one request. A repeated request with the same payment gets
// the stored response. A settlement that the facilitator does not answer is neither a
// success nor a failure: it is checked until its outcome is known.
package x402

const version = 2

const scheme = "exact"

// The headers of the protocol.
const (
	HeaderRequired = "PAYMENT-REQUIRED"
	HeaderPayment  = "PAYMENT-SIGNATURE"
	HeaderReceipt  = "PAYMENT-RESPONSE"
)
