package cache

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"pnyx/governance/query"
)

// Keys that tests look behind.
const (
	LeaseKey       = leaseKey
	PublicationKey = publicationKey
	ChangesKey     = changesKey
	StateKey       = daoIndexStateKey
	RowsKey        = daoIndexRowsKey
	FlushSize      = flushSize
	// FormatVersion names the layout that the values have.
	FormatVersion = formatVersion
)

// AppendChangesScript adds rows to the stream of changes.
var AppendChangesScript = appendChanges

// PendingKey names the note that a page is being made.
func PendingKey(page Key) Key { return pendingKey(page) }

// QueueKey names the queue of requests for one kind of page.
func QueueKey(kind query.Kind) Key { return fillQueueKey(kind) }

// VersionKey names the version of the pages of a scope.
func VersionKey(scope query.Scope) Key { return versionKey(scope) }

// ListKey names the list of the DAOs that a query selects.
func ListKey(q query.DAOs) Key { return listKey(q) }

// AllFilters lists every filter.
func AllFilters() []query.DAOs { return allFilters() }

// Encode returns the value as Redis keeps it.
func (v View) Encode() []byte { return v.encode() }

// DecodeView is the reverse of Encode.
func DecodeView(value []byte) (View, error) { return decodeView(value) }

// Connects says what the store connects to, without connecting.
func (s *Store) Connects() string {
	switch client := Client(s.conn).(type) {
	case *redis.Client:
		return fmt.Sprintf("%T %s %s", client, client.Options().Network, client.Options().Addr)
	case *redis.ClusterClient:
		return fmt.Sprintf("%T %v", client, client.Options().Addrs)
	}
	return fmt.Sprintf("%T", Client(s.conn))
}

// CheckServer reports what is wrong with a server by the fields of its INFO.
var CheckServer = checkServer
