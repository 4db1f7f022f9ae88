// Package accounts stores in Redis what must never be evicted or lost to a new cache
// format: published tokens, monthly quotas, usage counters, payments and the queue of
// the payment ledger.
//
// [New] builds a [Store] on the connection of a [cache.Store]. Every change that must
// not be applied twice is one Lua script, so any number of API nodes and workers may
// use the same keys concurrently. Methods return the errors of package cache:
// [cache.ErrMiss] for a key without a usable value, [cache.ErrUnavailable] for a Redis
// that does not answer.
//
// The keys of payments, quotas and usage counters have a format of their own, which
// does not change when the format of views does: an upgrade must find the usage that
// is not in the warehouse yet and the payments that are in progress. What Redis loses
// is restored from the warehouse: payments from the ledger ([Store.RestorePayments]),
// quotas from the usage journal ([Store.RaiseQuotas]), tokens from their table.
package accounts

import (
	"pnyx/cache"
)

// Store reads and writes accounts in Redis. It is safe for concurrent use.
type Store struct {
	cache *cache.Store
	conn  cache.Conn
}

// New returns a store that shares the connections of a cache. Closing the cache closes them.
func New(store *cache.Store) *Store { return &Store{cache: store, conn: store.Conn()} }
