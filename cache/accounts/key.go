package accounts

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"pnyx/cache"
)

// formatVersion names the layout of the keys and values that outlive an upgrade, independently of the version of
// views. Raising it requires a migration: usage that is not drained and payments that are only claimed exist
// nowhere else.
const formatVersion = "3"

const namespace = "pnyx:" + formatVersion + ":"

// A shared {tag} puts the keys of one script or transaction into one slot of a Redis Cluster.
const (
	// tokensKey holds the published tokens. It changes with the format of views: tokens are rebuilt, too.
	tokensKey cache.Key = cache.Namespace + "{tokens}:all"
	// usageKey is the hash of usage counters that are not in the warehouse yet.
	usageKey cache.Key = namespace + "{usage}:journal"

	paymentTag = namespace + "{payments}:"
	// paymentQueueKey is the stream of payment states on their way to the ledger.
	paymentQueueKey cache.Key = paymentTag + "journal"
	// paymentDueKey orders unresolved payments by the time of their next check.
	paymentDueKey cache.Key = paymentTag + "due"
	// paymentExpiryKey orders payments by the time at which they are deleted.
	paymentExpiryKey cache.Key = paymentTag + "ends"
	// paymentRestoredKey exists while Redis holds all payments of the ledger.
	paymentRestoredKey cache.Key = paymentTag + "restored"
)

// BucketKey names a token bucket of a caller. redis_rate adds a prefix of its own.
func BucketKey(caller, bucket string) string { return namespace + "{limit:" + caller + "}:" + bucket }

// QuotaKey names the count of responses that a caller has used in a month (YYYY-MM).
func QuotaKey(caller, month string) cache.Key {
	return cache.Key(namespace + "{limit:" + caller + "}:month:" + month)
}

// PaidFileTTL is how long what is left of a file is free for a caller who has paid for it.
const PaidFileTTL = time.Hour

// PaidFileKey names the mark that a caller has paid for a file.
func PaidFileKey(caller, file string) cache.Key {
	sum := sha256.Sum256([]byte(file))
	return cache.Key(namespace + "{limit:" + caller + "}:file:" + base64.RawURLEncoding.EncodeToString(sum[:16]))
}

func paymentKey(id string) cache.Key { return cache.Key(paymentTag + "claim:" + id) }

func paymentLeaseKey(id string) cache.Key { return cache.Key(paymentTag + "lease:" + id) }

func refusedRevisionKey(id string) cache.Key { return cache.Key(paymentTag + "refused:" + id) }

func paidResponseKey(id string) cache.Key { return cache.Key(paymentTag + "answer:" + id) }
