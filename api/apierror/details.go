package apierror

import (
	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/param"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// The types below are error.details of the errors that have more to give than a member or two, which
// are maps. Answers and the published examples are made of the same values. JSON names are in alphabetical order.

// ProblemDetails is error.details of VALIDATION_ERROR with 400.
type ProblemDetails struct {
	Omitted int `json:"omitted,omitempty"`
	// Problems lists what is wrong with the parameters, at most MaxProblems of it.
	Problems []param.Problem `json:"problems"`
}

// HeaderDetails is error.details of UNAUTHORIZED, and of a malformed payment.
type HeaderDetails struct {
	Header string `json:"header"`
	// Reason is the x402 error code; empty for tokens.
	Reason string `json:"reason,omitempty"`
}

// PaymentDetails is error.details of PAYMENT_REQUIRED: what opens the route.
type PaymentDetails struct {
	Header string `json:"header"`
	// Payment is what to pay; nil where no payments are taken.
	Payment *PaymentTerms `json:"payment,omitempty"`
	// Reason is the x402 error code; empty where no payments are taken.
	Reason  string `json:"reason,omitempty"`
	RouteID string `json:"routeId"`
	// Scope is the narrowest scope of a token that opens it.
	Scope access.Scope    `json:"scope"`
	Tier  governance.Tier `json:"tier"`
}

// PaymentTerms are the terms of x402, which the PAYMENT-REQUIRED header has as well.
type PaymentTerms struct {
	Accepts     []x402.Requirements `json:"accepts"`
	Header      string              `json:"header"`
	Resource    x402.Resource       `json:"resource"`
	X402Version int                 `json:"x402Version"`
}

// ReasonDetails is error.details of PAYMENT_IN_PROGRESS, SETTLEMENT_PENDING, and UNAVAILABLE due to a payment.
type ReasonDetails struct {
	// Reason is the x402 error code; empty for none.
	Reason string `json:"reason,omitempty"`
}

// SubjectDetails is error.details of NOT_FOUND for an id: the parameter, and the id.
type SubjectDetails map[string]string

// PathDetails is error.details of NOT_FOUND for a path.
type PathDetails struct {
	Described string `json:"described"`
	// Nearest is the most similar path; empty where none is similar.
	Nearest string `json:"nearest,omitempty"`
	Path    string `json:"path"`
}

// RateDetails is error.details of RATE_LIMITED.
type RateDetails struct {
	Bucket ratelimit.Bucket `json:"bucket"`
	// Burst is the size of the bucket, in requests.
	Burst int `json:"burst"`
	// Limit is how many requests a minute refill it.
	Limit int `json:"limit"`
	// Plan is the caller's plan; "free" for free routes.
	Plan      string `json:"plan"`
	Remaining int    `json:"remaining"`
	// ResetAt is when one more request is allowed, as Retry-After says.
	ResetAt governance.Timestamp `json:"resetAt"`
}

// QuotaDetails is error.details of QUOTA_EXCEEDED.
type QuotaDetails struct {
	// Bucket is "month".
	Bucket string `json:"bucket"`
	// Limit is how many answers the plan has a month.
	Limit int64  `json:"limit"`
	Plan  string `json:"plan"`
	// Remaining is zero.
	Remaining int `json:"remaining"`
	// ResetAt is when the next month begins.
	ResetAt governance.Timestamp `json:"resetAt"`
}
