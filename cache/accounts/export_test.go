package accounts

import "pnyx/cache"

// FormatVersion names the layout of the keys that outlive an upgrade.
const FormatVersion = formatVersion

// PaymentKey names the state of a payment.
func PaymentKey(id string) cache.Key { return paymentKey(id) }
