package wire

import (
	"net"
	"sync/atomic"
)

// BoundedListener bounds the writes of a listener's connections, while so many bytes wait to
// be read.
func BoundedListener(listener net.Listener, waiting int64) net.Listener {
	l := boundedListener{Listener: listener, waiting: new(atomic.Int64)}
	l.waiting.Store(waiting)
	return l
}
