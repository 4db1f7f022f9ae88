package source

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// The choices of every Governor, in the order in which scores are kept.
const (
	choiceFor     = "for"
	choiceAgainst = "against"
	choiceAbstain = "abstain"
)

func governorChoices() []string {
	return []string{choiceFor, choiceAgainst, choiceAbstain}
}

// readTallyOrganization takes the slug for the source's id, because proposals and
// DAOs refer to an organization by its slug.
func readTallyOrganization(in object) *record.Source {
	slug := in.get("slug").identifier()
	return &record.Source{
		SourceRef: record.SourceRef{Provider: governance.Tally, ID: slug},
		Name:      in.get("name").text(),
		Slug:      slug,
	}
}

func readTallyProposal(in object) *record.Proposal {
	metadata := in.get("metadata").object()
	proposal := &record.Proposal{
		ProposalRef:   record.ProposalRef{Provider: governance.Tally, ExternalID: in.get("id").identifier()},
		SourceID:      in.get("organization").object().get("slug").identifier(),
		Title:         metadata.get("title").text(),
		Body:          metadata.get("description").prose(),
		ProposerID:    governance.VoterIdentity(in.get("proposer").object().get("address").text()),
		DiscussionURL: cmp.Or(metadata.get("discourseURL").text(), metadata.get("snapshotURL").text()),
		SnapshotURL:   metadata.get("snapshotURL").text(),
		VoteType:      governance.SingleChoice,
		State:         strings.ToLower(in.get("status").text()),
		Choices:       []string{"For", "Against", "Abstain"},
		CreatedAt:     in.get("createdAt").time(),
		StartAt:       in.get("start").object().get("timestamp").time(),
		EndAt:         in.get("end").object().get("timestamp").time(),
		Milestones:    milestones(in.get("events")),
	}
	proposal.SourceURL = tallyURL(proposal.SourceID, cmp.Or(in.get("onchainId").text(), proposal.ExternalID))
	if quorum := in.get("quorum").units(); quorum != nil {
		proposal.QuorumRaw, proposal.Quorum = in.get("quorum").digits(), quorum
	}
	readVoteStats(in.get("voteStats"), proposal)
	return proposal
}

// tallyURL returns the page of a proposal; Tally's answers do not state it.
func tallyURL(slug, proposal string) string {
	return "https://www.tally.xyz/gov/" + url.PathEscape(slug) + "/proposal/" + url.PathEscape(proposal)
}

func milestones(events value) []record.Milestone {
	var milestones []record.Milestone
	for in := range events.objects() {
		milestones = append(milestones, record.Milestone{
			Type:   strings.ToLower(in.get("type").text()),
			At:     in.get("block").object().get("timestamp").time(),
			TxHash: in.get("txHash").text(),
		})
	}
	return milestones
}

// readVoteStats fills in the scores and the number of ballots that Tally states.
// Other types than the three choices (ballots pending on another chain) are not
// scores.
func readVoteStats(stats value, proposal *record.Proposal) {
	choices := governorChoices()
	for in := range stats.objects() {
		at := slices.Index(choices, strings.ToLower(in.get("type").text()))
		if at < 0 {
			continue
		}
		if score := in.get("votesCount").units(); score != nil {
			if proposal.StatedScores == nil {
				proposal.StatedScores = make([]decimal.Decimal, len(choices))
			}
			proposal.StatedScores[at] = *score
		}
		addVotes(in.get("votersCount"), proposal)
	}
}

func addVotes(voters value, proposal *record.Proposal) {
	more := voters.count()
	if more == nil {
		return
	}
	if proposal.StatedVotes == nil {
		proposal.StatedVotes = new(uint64)
	}
	if *more > math.MaxUint64-*proposal.StatedVotes {
		voters.refuseFor("a sum of voters below 2^64")
		return
	}
	*proposal.StatedVotes += *more
}

func readTallyVote(in object) *record.Ballot {
	ballot := &record.Ballot{
		Proposal: record.ProposalRef{
			Provider:   governance.Tally,
			ExternalID: in.get("proposal").object().get("id").identifier(),
		},
		VoteID:  in.get("id").identifier(),
		Voter:   governance.VoterIdentity(in.get("voter").object().get("address").identifier()),
		VotedAt: in.get("block").object().get("timestamp").time(),
		TxHash:  in.get("txHash").text(),
		Reason:  in.get("reason").text(),
	}
	choice := in.get("type")
	ballot.ChoiceKey = oneOf(choice, governorChoices()...)
	ballot.Choices, ballot.RawChoice = []string{ballot.ChoiceKey}, string(choice.json)
	amount := in.get("amount")
	if amount.absent() {
		amount.must(kindText)
	}
	if power := amount.units(); power != nil {
		ballot.Power = *power
	}
	return ballot
}
