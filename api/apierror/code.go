package apierror

// Code is the machine-readable name of an error.
type Code string

// The codes of errors. Codes describes them.
const (
	CodeValidation        Code = "VALIDATION_ERROR"
	CodeUnauthorized      Code = "UNAUTHORIZED"
	CodePaymentRequired   Code = "PAYMENT_REQUIRED"
	CodeForbidden         Code = "FORBIDDEN"
	CodeNotFound          Code = "NOT_FOUND"
	CodeMethodNotAllowed  Code = "METHOD_NOT_ALLOWED"
	CodePaymentInProgress Code = "PAYMENT_IN_PROGRESS"
	CodeExportGone        Code = "EXPORT_GONE"
	CodeCursorExpired     Code = "CURSOR_EXPIRED"
	CodeRateLimited       Code = "RATE_LIMITED"
	CodeQuotaExceeded     Code = "QUOTA_EXCEEDED"
	CodeInternal          Code = "INTERNAL"
	CodeUnavailable       Code = "UNAVAILABLE"
	CodeSettlementPending Code = "SETTLEMENT_PENDING"
)

// OfPayments reports whether only payments for single requests cause the error.
func (c Code) OfPayments() bool { return c == CodePaymentInProgress || c == CodeSettlementPending }
