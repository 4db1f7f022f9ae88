package api

import "net/http"

// Code is the machine-readable name of an error.
type Code string

// The codes of errors.
const (
	CodeValidation        Code = "VALIDATION_ERROR"
	CodeUnauthorized      Code = "UNAUTHORIZED"
	CodePaymentRequired   Code = "PAYMENT_REQUIRED"
	CodeForbidden         Code = "FORBIDDEN"
	CodeNotFound          Code = "NOT_FOUND"
	CodeMethodNotAllowed  Code = "METHOD_NOT_ALLOWED"
	CodePaymentInProgress Code = "PAYMENT_IN_PROGRESS"
	CodeRateLimited       Code = "RATE_LIMITED"
	CodeQuotaExceeded     Code = "QUOTA_EXCEEDED"
	CodeInternal          Code = "INTERNAL"
	CodeUnavailable       Code = "UNAVAILABLE"
	CodeSettlementPending Code = "SETTLEMENT_PENDING"
)

// CodeInfo is what there is to know of an error code.
type CodeInfo struct {
	Code   Code
	Status int
	// Description is when it is answered, Fix what a caller should do then.
	Description, Fix string
	// Message is an example of error.message.
	Message string
	// Details is an example of error.details.
	Details map[string]any
}

// Codes is the table of error codes.
func Codes() []CodeInfo {
	return []CodeInfo{
		{
			Code: CodeValidation, Status: http.StatusBadRequest,
			Message: "limits is not a parameter of this endpoint, did you mean limit?",
			Description: "A parameter is unknown, missing, repeated, malformed or out of bounds; all problems are listed at once. " +
				"The same code comes with 408, 413, 414 and 431 for requests that are too slow or too large.",
			Fix: "Change what details.problems names. Nothing was charged or counted.",
			Details: map[string]any{"problems": []Problem{{
				Parameter: "limits", Given: "5", Message: "is not a parameter of this endpoint, did you mean limit?",
				Allowed: "cursor, limit", Fix: "use limit instead",
			}}},
		},
		{
			Code: CodeUnauthorized, Status: http.StatusUnauthorized,
			Message:     "the token is not valid",
			Description: "The token is malformed, unknown or revoked.",
			Fix:         "Send the token as it was issued in x-service-api-token, or leave the header out and pay per request.",
			Details:     map[string]any{"header": "x-service-api-token"},
		},
		{
			Code: CodePaymentRequired, Status: http.StatusPaymentRequired,
			Message:     "payment required",
			Description: "A paid route was asked without a token or a payment, or the payment was refused.",
			Fix:         "Pay by the terms in the PAYMENT-REQUIRED header and repeat the request with PAYMENT-SIGNATURE, or send a token.",
			Details:     map[string]any{"token": "USDC", "network": "eip155:8453", "price": "0.001"},
		},
		{
			Code: CodeForbidden, Status: http.StatusForbidden,
			Message:     "the token does not open plus routes",
			Description: "The token's scopes do not open this route.",
			Fix:         "Use a token that has the scope in details.",
			Details:     map[string]any{"scope": "v2:paid:plus"},
		},
		{
			Code: CodeNotFound, Status: http.StatusNotFound,
			Message:     "no daoId \"nobody\"",
			Description: "There is no such path, or nothing with the id in it.",
			Fix:         "Take ids and keys from lists. For a path, details.nearest is the closest one there is.",
			Details:     map[string]any{"daoId": "nobody"},
		},
		{
			Code: CodeMethodNotAllowed, Status: http.StatusMethodNotAllowed,
			Message:     "POST is not allowed here",
			Description: "The path knows GET, HEAD and OPTIONS only.",
			Fix:         "Use GET.",
			Details:     map[string]any{"allowed": allowedMethods()},
		},
		{
			Code: CodePaymentInProgress, Status: http.StatusConflict,
			Message:     "this payment is being settled",
			Description: "The same payment is being settled for another request.",
			Fix:         "Wait for Retry-After, then repeat the request with the same payment.",
			Details:     map[string]any{},
		},
		{
			Code: CodeRateLimited, Status: http.StatusTooManyRequests,
			Message:     "too many requests",
			Description: "The bucket of the caller is empty.",
			Fix:         "Wait for Retry-After; the RateLimit headers say what is left.",
			Details:     map[string]any{"plan": "developer", "bucket": "standard", "limit": 30, "remaining": 0, "resetAt": "2026-01-31T12:00:00.000Z"},
		},
		{
			Code: CodeQuotaExceeded, Status: http.StatusTooManyRequests,
			Message:     "the quota of this month is used up",
			Description: "The plan's quota of the calendar month (UTC) is used up.",
			Fix:         "Wait for the month to end, change the plan, or pay per request.",
			Details:     map[string]any{"plan": "developer", "limit": 3000, "remaining": 0, "resetAt": "2026-02-01T00:00:00.000Z"},
		},
		{
			Code: CodeInternal, Status: http.StatusInternalServerError,
			Message:     "something went wrong on our side",
			Description: "Something went wrong on our side.",
			Fix:         "Try again; if it stays, report meta.requestId, which finds the line in our log.",
			Details:     map[string]any{},
		},
		{
			Code: CodeUnavailable, Status: http.StatusServiceUnavailable,
			Message:     "the data is not available at the moment, try again shortly",
			Description: "The data cannot be had at the moment: it was never worked out yet, or too many wait for such data.",
			Fix:         "Wait for Retry-After and try again. Nothing was charged or counted.",
			Details:     map[string]any{},
		},
		{
			Code: CodeSettlementPending, Status: http.StatusGatewayTimeout,
			Message:     "the settlement is not confirmed yet",
			Description: "The payment was submitted, and whether it was settled is not known yet.",
			Fix:         "Repeat the request with the same payment: it is never settled twice.",
			Details:     map[string]any{},
		},
	}
}

// Info returns the row of the code in the table.
func (c Code) Info() CodeInfo {
	for _, info := range Codes() {
		if info.Code == c {
			return info
		}
	}
	return CodeInfo{Code: CodeInternal, Status: http.StatusInternalServerError}
}

// allowedMethods are the methods that every path knows.
func allowedMethods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodOptions}
}
