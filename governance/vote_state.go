package governance

// Upstream states of a proposal that can still be voted on.
const (
	UpstreamPending = "pending"
	UpstreamActive  = "active"
)

// stateOfVote is what a word of upstream for the state of a proposal means.
type stateOfVote struct {
	// over is true once voting is closed.
	over bool
	// outcome is empty where the word states none.
	outcome Outcome
}

// statesOfVotes are the words of all providers. A word that is not among them decides nothing.
func statesOfVotes() map[string]stateOfVote {
	return map[string]stateOfVote{
		UpstreamPending: {}, UpstreamActive: {}, "extended": {}, "submitted": {}, "draft": {},
		"closed": {over: true}, "archived": {over: true},
		"succeeded": {true, Passed}, "queued": {true, Passed}, "pendingexecution": {true, Passed},
		"executed": {true, Executed}, "callexecuted": {true, Executed}, "crosschainexecuted": {true, Executed},
		"defeated": {true, Failed}, "expired": {true, Failed},
		"canceled": {true, Canceled},
	}
}

// IsKnownState reports whether the meaning of an upstream state is known. That of none is.
func IsKnownState(state string) bool {
	_, known := statesOfVotes()[state]
	return known || state == ""
}

// IsOpenState reports whether an upstream state says that a vote is to come or under way.
func IsOpenState(state string) bool {
	return state != "" && IsKnownState(state) && !statesOfVotes()[state].over
}
