package x402

import "time"

// SetClock makes a gate tell another time.
func (g *Gate) SetClock(now func() time.Time) { g.now = now }

// Names of the chain that tests work out by themselves.
const (
	TopicAuthorizationUsed = topicAuthorizationUsed
	TopicAuthorizationVoid = topicAuthorizationVoid
	TopicTransfer          = topicTransfer
	CallAuthorizationState = callAuthorizationState
)
