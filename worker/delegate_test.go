package worker_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

const (
	harborToken    = "eip155:1:0x00000000000000000000000000000000000000aa"
	harborGovernor = "eip155:1:0x00000000000000000000000000000000000000bb"
)

// power is a statement of the power of a delegate, some minutes from now.
func power(delegate, amount string, block uint64, at int) *record.DelegatePower {
	return &record.DelegatePower{
		Placed: record.Placed{Scope: harborToken, Block: block, At: inMinutes(at)}, Delegate: delegate, Power: decimal.RequireFromString(amount),
	}
}

func inMinutes(n int) *governance.Timestamp {
	stamp := governance.TimestampOf(time.Now().Add(time.Duration(n) * time.Minute).Truncate(time.Minute))
	return &stamp
}

func delegates(delegator, delegate string, block uint64) *record.Delegation {
	return &record.Delegation{
		Placed: record.Placed{Scope: harborToken, Block: block, At: inMinutes(-90)}, Delegator: delegator, Delegates: []string{delegate},
	}
}

// onGovernor is an open vote of the Governor that began 60 minutes ago.
func onGovernor(id string, end int) *record.Proposal {
	return &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Governor, ExternalID: harborGovernor + "/" + id}, SourceID: harborGovernor,
		Title: "Vote " + id, VoteType: governance.SingleChoice, Choices: []string{"For", "Against", "Abstain"}, State: "active",
		CreatedAt: inMinutes(-70), StartAt: inMinutes(-60), EndAt: inMinutes(end),
	}
}

func TestOpenVotesAreThoseWithPowerAndWithoutABallot(t *testing.T) {
	t.Parallel()
	h := newWorker(t)
	offChain := proposal("off chain")
	offChain.StartAt, offChain.EndAt, offChain.State = inMinutes(-60), inMinutes(30), "active"
	voted := &record.Ballot{
		Proposal: onGovernor("1", 0).ProposalRef, VoteID: "v", Voter: "0xd4", Power: decimal.NewFromInt(3), Choices: []string{"for"}, ChoiceKey: "for",
		RawChoice: `"for"`, VotedAt: inMinutes(-5),
	}
	h.append(
		&record.DAO{ID: "harbor", Name: "Harbor", Sources: []record.SourceRef{
			{Provider: governance.Governor, ID: harborGovernor}, {Provider: governance.Snapshot, ID: "dao.eth"},
		}},
		&record.Source{SourceRef: record.SourceRef{Provider: governance.Governor, ID: harborGovernor}, Token: harborToken},
		onGovernor("1", 60), onGovernor("2", 20), offChain, voted,
		power("0xd1", "5.5", 10, -80), power("0xd1", "9", 20, -30), power("0xd2", "7", 10, -80), power("0xd2", "0", 11, -70),
		power("0xd4", "3", 10, -80), delegates("0xa1", "0xd1", 9), delegates("0xa2", "0xd3", 9),
		&record.TokenSupply{Placed: record.Placed{Scope: harborToken, Block: 1}, Supply: decimal.NewFromInt(100)},
	)
	h.waitForVotes(governance.Identity{DAOID: "harbor", Provider: governance.Governor, ExternalID: harborGovernor + "/1"}.ProposalKey(), "1")
	h.waitForPublication()
	wantVotes := func(voter query.Voter, want ...string) {
		t.Helper()
		q := query.OpenVotes{Voter: voter}
		q.Limit = query.ShortPage
		waitForRows(h, q, func(row governance.OpenVote) string {
			amount, title := "?", "untitled"
			if row.Proposal.Title != nil { // its row is written after its state
				title = *row.Proposal.Title
			}
			if row.VotingPower != nil {
				amount = string(*row.VotingPower)
			}
			return fmt.Sprint(title, " ", amount, " ", row.PowerBasis, " ", row.AsDelegate)
		}, want...)
	}
	wantVotes("0xd1", "Vote 2 5.5 start true", "off chain ? unknown true", "Vote 1 5.5 start true")
	wantVotes("0xd3", "Vote 2 ? unknown true", "off chain ? unknown true", "Vote 1 ? unknown true")
	wantVotes("0xd4", "Vote 2 3 start false", "off chain ? unknown false")
	q := query.OpenVotes{Voter: "0xnobody"}
	q.Limit = query.ShortPage
	env.Until(t, func() error {
		_, _ = h.readView(q, nil) // requests the page
		view, _, err := h.store.Page(t.Context(), cache.NewPageRequest(q))
		if err == nil && !view.Absent {
			err = errors.New("got a page of nobody, want none")
		}
		return err
	})
	ranking := query.Delegates{DAOID: "harbor", Order: query.DelegatesByPower}
	ranking.Limit = query.ShortPage
	waitForRows(h, ranking, func(row governance.Delegate) string { return row.VoterIdentity }, "0xd1", "0xd4", "0xd3")
	asked := power("0x"+strings.Repeat("0", 40), "0", 21, -20) // its powers change without a log
	asked.LogIndex = math.MaxUint32
	h.append(asked)
	wantVotes("0xd1", "Vote 2 ? unknown true", "off chain ? unknown true", "Vote 1 ? unknown true")
}
