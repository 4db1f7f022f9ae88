package source

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// governorChoices returns the choices of every Governor in the order of scores.
func governorChoices() []string {
	return []string{governance.GovernorFor, governance.GovernorAgainst, governance.GovernorAbstain}
}

// readTallyOrganization reads an organization of Tally's API. The source's id is the
// slug, because proposals and DAOs refer to an organization by its slug.
func readTallyOrganization(in object) record.Record {
	slug := in.get("slug").identifier()
	return &record.Source{
		SourceRef: record.SourceRef{Provider: governance.Tally, ID: slug},
		Name:      in.get("name").text(),
		Slug:      slug,
	}
}

// readTallyProposal reads a Governor's proposal as Tally's API publishes it.
func readTallyProposal(in object) record.Record {
	metadata := in.get("metadata").object()
	proposal := &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: in.get("id").identifier()},
		SourceID:    in.get("organization").object().get("slug").identifier(),
		Title:       metadata.get("title").text(),
		Body:        metadata.get("description").multiline(),
		ProposerID: governance.VoterIdentity(cmp.Or(
			in.get("proposer").object().get("address").text(), in.get("creator").object().get("address").text())),
		DiscussionURL: cmp.Or(metadata.get("discourseURL").text(), metadata.get("snapshotURL").text()),
		SnapshotURL:   metadata.get("snapshotURL").text(),
		VoteType:      governance.SingleChoice,
		State:         strings.ToLower(in.get("status").text()),
		Choices:       []string{"For", "Against", "Abstain"},
		CreatedAt:     in.get("createdAt").time(),
		StartAt:       in.get("start").object().get("timestamp").time(),
		EndAt:         in.get("end").object().get("timestamp").endTime(),
		Milestones:    readMilestones(in.get("events")),
	}
	proposal.CreatedAt = governance.FirstKnown(proposal.CreatedAt, createdAt(proposal.Milestones), in.get("block").object().get("timestamp").time())
	proposal.Withdrawn = proposal.State == "draft" // it is not on the chain
	governor, number := strings.ToLower(in.get("governor").object().get("id").text()), in.get("onchainId").text()
	// Tally's API does not state the page.
	proposal.SourceURL = "https://www.tally.xyz/gov/" + url.PathEscape(proposal.SourceID) + "/proposal/" + url.PathEscape(cmp.Or(number, proposal.ExternalID))
	if isDecimal(number) && governance.IsGovernorID(governor) {
		proposal.OnchainID = governor + "/" + number
	}
	token := strings.Split(strings.ToLower(in.get("governor").object().get("token").object().get("id").text()), "/")
	if chain, address := token[0], strings.TrimPrefix(token[len(token)-1], "erc20:"); len(token) == 2 && governance.IsGovernorID(chain+":"+address) {
		proposal.VotingToken = chain + ":" + address
	}
	decimals := readDecimals(in)
	if _, _, err := governance.ParseUnits(in.get("quorum").numberText(), decimals); errors.Is(err, governance.ErrTooLarge) {
		proposal.QuorumRaw = in.get("quorum").numberText() // unreachable
	} else if quorum, _ := in.get("quorum").baseUnits(decimals); quorum != nil {
		proposal.QuorumRaw, proposal.Quorum = in.get("quorum").numberText(), quorum
	}
	// Tally's words for contracts whose quorum counts the votes for alone.
	forAlone := []string{"governoralpha", "governorbravo", "nounsfork", "aave"}
	if kind := strings.ToLower(in.get("governor").object().get("type").text()); slices.Contains(forAlone, kind) {
		proposal.QuorumChoices = []string{governance.GovernorFor}
	}
	readVoteStats(in.get("voteStats"), decimals, proposal)
	if calls := in.get("executableCalls"); typeOf(calls.json) == typeArray {
		proposal.SetActions(executableCalls(calls))
	}
	return proposal
}

// isDecimal reports whether a text is a number of 256 bits in digits. It is part of an id.
func isDecimal(text string) bool {
	const maxDigits = 78
	return text != "" && len(text) <= maxDigits && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

// readDecimals returns the decimals of the token that a proposal is voted on with.
func readDecimals(proposal object) int32 {
	return proposal.get("governor").object().get("token").object().get("decimals").tokenDecimals()
}

func readMilestones(events value) []record.Milestone {
	var milestones []record.Milestone
	for in := range events.objects() {
		milestones = append(milestones, record.Milestone{
			Type:   strings.ToLower(in.get("type").text()),
			At:     governance.FirstKnown(in.get("block").object().get("timestamp").time(), in.get("createdAt").time()),
			TxHash: in.get("txHash").text(),
		})
	}
	return milestones
}

// createdAt returns the time of the creation among milestones; nil for none.
func createdAt(milestones []record.Milestone) *governance.Timestamp {
	at := slices.IndexFunc(milestones, func(m record.Milestone) bool { return m.Type == "created" })
	if at < 0 {
		return nil
	}
	return milestones[at].At
}

// readVoteStats sets the scores and the number of ballots that Tally states. It skips
// types other than the three choices, such as ballots pending on another chain.
func readVoteStats(stats value, decimals int32, proposal *record.Proposal) {
	choices := governorChoices()
	votes := map[int]uint64{}
	for in := range stats.objects() {
		at := slices.Index(choices, strings.ToLower(in.get("type").text()))
		if at < 0 {
			continue
		}
		if score, _ := in.get("votesCount").baseUnits(decimals); score != nil {
			if proposal.StatedScores == nil {
				proposal.StatedScores = make([]decimal.Decimal, len(choices))
			}
			proposal.StatedScores[at] = *score
		}
		addStatedVotes(in.get("votersCount"), proposal)
		if voters := in.get("votersCount").count(); voters != nil {
			votes[at] = *voters
		}
	}
	if len(votes) == len(choices) {
		proposal.StatedChoiceVotes = []uint64{votes[0], votes[1], votes[2]}
	}
}

// addStatedVotes adds voters to the proposal's. It rejects the line if the sum overflows.
func addStatedVotes(voters value, proposal *record.Proposal) {
	more := voters.count()
	if more == nil {
		return
	}
	if proposal.StatedVotes == nil {
		proposal.StatedVotes = new(uint64)
	}
	if *more > math.MaxUint64-*proposal.StatedVotes {
		voters.rejectUnlike("a sum of voters below 2^64")
		return
	}
	*proposal.StatedVotes += *more
}

// readTallyVote reads a vote on a Governor's proposal as Tally's API publishes it.
func readTallyVote(in object) record.Record {
	ballot := &record.Ballot{
		Proposal: record.ProposalRef{
			Provider:   governance.Tally,
			ExternalID: in.get("proposal").object().get("id").proposalID(),
		},
		VoteID:  in.get("id").identifier(),
		Voter:   governance.VoterIdentity(in.get("voter").object().get("address").identifier()),
		VotedAt: in.get("block").object().get("timestamp").time(),
		TxHash:  in.get("txHash").text(),
		Reason:  in.get("reason").text(),
	}
	choice := in.get("type")
	choice.json = bytes.ToLower(choice.json) // in any letter case, as in voteStats
	ballot.ChoiceKey = oneOf(choice, governorChoices()...)
	ballot.Choices, ballot.RawChoice = []string{ballot.ChoiceKey}, string(choice.json)
	decimals := readDecimals(in.get("proposal").object())
	if power, rounded := in.get("amount").required(typeString).baseUnits(decimals); power != nil {
		ballot.Power, ballot.PowerRounded = *power, rounded
	}
	return ballot
}
