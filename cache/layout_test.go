package cache_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

var updateLayout = env.LayoutFlag()

func TestVersionsOfOneFormatReadEachOthersValues(t *testing.T) {
	t.Parallel()
	env.WantLayout(t, filepath.Join("testdata", "layout-"+cache.FormatVersion+".txt"), updateLayout,
		reflect.TypeFor[cache.View](), reflect.TypeFor[cache.PublicationState](), reflect.TypeFor[cache.Fill](),
		reflect.TypeFor[query.Ballots](), reflect.TypeFor[query.Voters](), reflect.TypeFor[query.Profile](),
		reflect.TypeFor[query.VoterVotes](), reflect.TypeFor[query.Delegates](), reflect.TypeFor[query.VoterDelegations](), reflect.TypeFor[query.OpenVotes](),
		reflect.TypeFor[query.Proposals](), reflect.TypeFor[query.Resolve](),
		reflect.TypeFor[query.Topics](), reflect.TypeFor[query.Events](), reflect.TypeFor[query.Signals](),
		reflect.TypeFor[cache.ProposalRow](),
		reflect.TypeFor[governance.DataStatus](), reflect.TypeFor[governance.DAOListItem](),
		reflect.TypeFor[governance.DAODetail](), reflect.TypeFor[governance.Timeline](),
		reflect.TypeFor[governance.ProposalDetail](), reflect.TypeFor[governance.ProposalCandidate](),
		reflect.TypeFor[governance.VoteSummary](), reflect.TypeFor[governance.Ballot](),
		reflect.TypeFor[governance.Evidence](), reflect.TypeFor[governance.ForumTopic](),
		reflect.TypeFor[governance.ForumTopicDetail](), reflect.TypeFor[governance.EventRow](),
		reflect.TypeFor[governance.SignalRow](), reflect.TypeFor[governance.DAOVoter](),
		reflect.TypeFor[governance.VoterProfile](), reflect.TypeFor[governance.VoterVote](),
		reflect.TypeFor[governance.Delegate](), reflect.TypeFor[governance.VoterDelegation](), reflect.TypeFor[governance.OpenVote]())
}
