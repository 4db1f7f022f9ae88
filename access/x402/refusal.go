package x402

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies refusals by what the caller should do.
type Kind string

// The kinds of refusals.
const (
	// Required wants a payment, or another one: the challenge says which.
	Required Kind = "required"
	// Malformed is a header that is no payment at all.
	Malformed Kind = "malformed"
	// InProgress is a payment that another request is working on.
	InProgress Kind = "inProgress"
	// Pending is a payment whose settlement has no outcome yet. It must not be
	// replaced by another one, only sent again.
	Pending Kind = "pending"
	// Unavailable is a service that can take no payment at the moment; nothing was
	// charged.
	Unavailable Kind = "unavailable"
)

// RefusedError says why a payment is refused.
type RefusedError struct {
	// Kind says what the caller should do.
	Kind Kind
	// Reason is the protocol's word for it; it is empty where the protocol has none.
	Reason string
	// Message says what to do.
	Message string
	// Challenge asks for the payment where the kind is Required.
	Challenge *Challenge
	// Receipt is the header that says that a settlement was refused, or empty.
	Receipt string
	// RetryAfter is the time until a retry; zero for none.
	RetryAfter time.Duration
	// Cause is for the log.
	Cause error
}

// Error returns the message, and the cause behind it.
func (r *RefusedError) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("%s: %v", r.Message, r.Cause)
	}
	return r.Message
}

// Unwrap returns the cause.
func (r *RefusedError) Unwrap() error { return r.Cause }

// Times until a retry.
const (
	retryInProgress  = 2 * time.Second
	retryPending     = 5 * time.Second
	retryUnavailable = 10 * time.Second
)

// Reasons that are ours, or that others are told apart by.
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
		Message: "another request with this payment is being worked on; send the same payment again in a moment to get its answer",
	}
}

func pending(cause error) *RefusedError {
	return &RefusedError{
		Kind: Pending, Reason: reasonPending, RetryAfter: retryPending, Cause: cause,
		Message: "the payment was handed over for settlement and the outcome is not known yet; " +
			"send the same payment header again to get the answer, and do not pay anew",
	}
}

func unavailable(cause error) *RefusedError {
	retryAfter := retryUnavailable
	if busy, is := errors.AsType[*busyError](cause); is {
		retryAfter = busy.wait
	}
	return &RefusedError{
		Kind: Unavailable, RetryAfter: retryAfter, Cause: cause,
		Message: "payments cannot be taken at the moment; nothing was charged, and the same payment may be sent again while it is valid",
	}
}

// messageOf returns the message for a reason, with what the caller should do.
func messageOf(reason string) string {
	switch reason {
	case reasonRequired:
		return "this endpoint is paid: sign a payment for the terms in the PAYMENT-REQUIRED header and send it as PAYMENT-SIGNATURE"
	case reasonNoMatch:
		return "accepted is not one of the offered terms: sign for the terms in the PAYMENT-REQUIRED header, unchanged"
	case reasonSignature:
		return "the signature is not that of from over the authorization: sign the EIP-712 message with the account that pays, for the domain in extra"
	case reasonUsed:
		return "this payment was already used: sign a new one, with a fresh nonce"
	case reasonRecipient:
		return "the authorization pays somebody else: to has to be payTo of the terms"
	case reasonValue:
		return "the authorization is over another amount: value has to equal amount of the terms"
	case reasonValidBefore:
		return "the authorization has expired, is about to, or holds for much longer than maxTimeoutSeconds: sign a new one"
	case reasonValidAfter:
		return "the authorization is not valid yet: validAfter has to be in the past"
	}
	return "the payment was refused (" + reason + "): nothing was charged; sign a new payment for the terms in the PAYMENT-REQUIRED header"
}
