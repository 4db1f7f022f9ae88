package x402

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies refusals by what the caller should do.
type Kind string

const (
	// Required asks for a payment, or for another one, by the terms of the challenge.
	Required Kind = "required"
	// Malformed is a header that is not a well-formed payment.
	Malformed Kind = "malformed"
	// InProgress is a payment that another request is using at the moment.
	InProgress Kind = "inProgress"
	// Pending is a payment whose settlement has no known outcome yet. The caller must send the same payment again,
	// not a new one.
	Pending Kind = "pending"
	// Unavailable means that no payments are accepted at the moment. Nothing was charged.
	Unavailable Kind = "unavailable"
)

// RefusedError says why a payment is refused.
type RefusedError struct {
	Kind Kind
	// Reason is the error code of the protocol; empty where it has none.
	Reason    string
	Message   string
	Challenge *Challenge // the terms for Required; nil otherwise
	// Receipt is the PAYMENT-RESPONSE header of a refused settlement; empty without one.
	Receipt    string
	RetryAfter time.Duration // zero for no such time
	// Cause is the internal error, for the log; nil for none.
	Cause error
}

// Error returns the message and the cause.
func (r *RefusedError) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("%s: %v", r.Message, r.Cause)
	}
	return r.Message
}

// Unwrap returns the cause.
func (r *RefusedError) Unwrap() error { return r.Cause }

const (
	retryInProgress  = 2 * time.Second
	retryPending     = 5 * time.Second
	retryUnavailable = 10 * time.Second
)

const (
	reasonRequired    = "Payment required"
	reasonNoMatch     = "No matching payment requirements"
	reasonSignature   = "invalid_exact_evm_signature"
	reasonUsed        = "invalid_exact_evm_nonce_already_used"
	reasonRecipient   = "invalid_exact_evm_recipient_mismatch"
	reasonValue       = "invalid_exact_evm_payload_authorization_value_mismatch"
	reasonValidBefore = "invalid_exact_evm_payload_authorization_valid_before"
	reasonValidAfter  = "invalid_exact_evm_payload_authorization_valid_after"
	reasonPending     = "settlement_pending"
	reasonUnreachable = "facilitator_unreachable"
)

func malformed(message string) *RefusedError {
	return &RefusedError{Kind: Malformed, Reason: "invalid_payload", Message: message}
}

func inProgress() *RefusedError {
	return &RefusedError{
		Kind: InProgress, RetryAfter: retryInProgress,
		Message: "another request with this payment is in progress; send the same payment again in a moment to get its answer",
	}
}

func pending(cause error) *RefusedError {
	return &RefusedError{
		Kind: Pending, Reason: reasonPending, RetryAfter: retryPending, Cause: cause,
		Message: "the payment was submitted and its outcome is not known yet; " +
			"send the same payment again to get the answer, and do not sign a new payment",
	}
}

func unavailable(cause error) *RefusedError {
	retryAfter := retryUnavailable
	if busy, is := errors.AsType[*busyError](cause); is {
		retryAfter = busy.wait
	}
	return &RefusedError{
		Kind: Unavailable, RetryAfter: retryAfter, Cause: cause,
		Message: "payments are not accepted at the moment; nothing was charged, and the same payment can be sent again while it is valid",
	}
}

func messageOf(reason string) string {
	if isUsed(reason) {
		reason = reasonUsed
	}
	if message, known := map[string]string{
		reasonRequired:    "this endpoint requires payment: sign a payment for the terms in the PAYMENT-REQUIRED header and send it as PAYMENT-SIGNATURE",
		reasonNoMatch:     "accepted is not one of the offered terms: sign for those, unchanged",
		reasonSignature:   "the signature does not match the authorization: sign the EIP-712 message with the account in from, for the domain in extra",
		reasonUsed:        "this payment was already used: sign a new one, with a fresh nonce",
		reasonRecipient:   "the authorization pays another address: to must equal payTo of the terms",
		reasonValue:       "the authorization has another amount: value must equal amount of the terms",
		reasonValidBefore: "the authorization has expired, expires too soon, or is valid for much longer than maxTimeoutSeconds: sign a new one",
		reasonValidAfter:  "the authorization is not valid yet: validAfter must be in the past",
	}[reason]; known {
		return message
	}
	return "the payment was refused (" + reason + "): nothing was charged; sign a new payment for the offered terms"
}
