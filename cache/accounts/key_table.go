package accounts

import "pnyx/cache"

// Keys describes every key of the package for the generated documentation.
func Keys() cache.KeySection {
	const never = cache.NeverExpires
	return cache.KeySection{
		Title: "Accounts",
		Text: "Payments, quotas and usage counters keep `" + namespace + "` when the format of views " +
			"changes: an upgrade reads what is not in the warehouse yet. Tokens are rebuilt from the warehouse " +
			"and start with `" + cache.Namespace + "`.",
		Families: []cache.KeyFamily{
			{
				Keys:     []cache.Key{tokensKey},
				Contents: "all valid tokens, with their revision", Writer: "worker, `pnyx token`", Lifetime: never,
			},
			{
				Keys:     []cache.Key{cache.Key("rate:" + BucketKey("CALLER", "BUCKET"))},
				Contents: "a token bucket (redis_rate adds `rate:`)", Writer: "API nodes",
				Lifetime: "until the bucket is full",
			},
			{
				Keys:     []cache.Key{QuotaKey("CALLER", "MONTH")},
				Contents: "responses used in a month", Writer: "API nodes, worker",
				Lifetime: cache.FormatLifetime(QuotaTTL),
			},
			{
				Keys:     []cache.Key{cache.Key(namespace + "{limit:CALLER}:file:HASH")},
				Contents: "the caller has paid for a part of an export; HASH is the request's hash", Writer: "API nodes",
				Lifetime: cache.FormatLifetime(PaidFileTTL),
			},
			{
				Keys:     []cache.Key{usageKey},
				Contents: "usage counters that are not in the warehouse yet", Writer: "API nodes",
				Lifetime: "drained within a second",
			},
			{
				Keys:     []cache.Key{paymentKey("PAYMENT"), paymentExpiryKey},
				Contents: "payments, and when each is deleted", Writer: "API nodes",
				Lifetime: "until the lease ends while nothing was submitted; then deleted by the worker " +
					cache.FormatLifetime(paymentRetention) + " after the authorization expires",
			},
			{
				Keys:     []cache.Key{paymentLeaseKey("PAYMENT")},
				Contents: "holder of the lease of a payment", Writer: "API nodes",
				Lifetime: "the sum of the payment timeouts",
			},
			{
				Keys:     []cache.Key{paidResponseKey("PAYMENT")},
				Contents: "response that was paid for", Writer: "API nodes",
				Lifetime: "the payment's",
			},
			{
				Keys:     []cache.Key{refusedRevisionKey("PAYMENT")},
				Contents: "revision at which a payment was refused", Writer: "API nodes",
				Lifetime: "the payment's",
			},
			{
				Keys:     []cache.Key{paymentQueueKey, paymentDueKey},
				Contents: "payment states on their way to the ledger; unresolved payments by next check",
				Writer:   "API nodes", Lifetime: "within a second; once resolved",
			},
			{
				Keys:     []cache.Key{paymentRestoredKey},
				Contents: "set while Redis holds all payments of the ledger", Writer: "worker", Lifetime: never,
			},
		},
	}
}
