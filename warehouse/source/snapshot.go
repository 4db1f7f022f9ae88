package source

import (
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

func readSnapshotSpace(in object) record.Record {
	return &record.Source{
		SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: in.get("id").identifier()},
		Name:      in.get("name").text(),
		Network:   in.get("network").text(),
		Symbol:    in.get("symbol").text(),
		Flagged:   in.get("flagged").boolOr(false),
	}
}

// readSnapshotProposal reads a proposal of Snapshot's API. The fields start_day and
// end_day stand in for missing times; source_id, source_type and source_status are
// fields of Decentraland's own API.
func readSnapshotProposal(in object) record.Record {
	proposal := &record.Proposal{
		ProposalRef:    record.ProposalRef{Provider: governance.Snapshot, ExternalID: in.get("id").identifier()},
		SourceID:       in.get("space").object().get("id").identifier(),
		Title:          in.get("title").text(),
		Body:           in.get("body").multiline(),
		ProposerID:     governance.VoterIdentity(in.get("author").text()),
		SourceURL:      in.get("link").text(),
		DiscussionURL:  in.get("discussion").text(),
		VoteType:       governance.VoteType(strings.ToLower(in.get("type").text())),
		State:          strings.ToLower(in.get("state").text()),
		Choices:        in.get("choices").texts(),
		CreatedAt:      in.get("created").time(),
		UpdatedAt:      in.get("updated").time(),
		StatedScores:   readScores(in.get("scores")),
		ScoresState:    strings.ToLower(in.get("scores_state").text()),
		StatedVotes:    in.get("votes").count(),
		Flagged:        in.get("flagged").boolOr(false),
		UpstreamID:     in.get("source_id").text(),
		UpstreamType:   in.get("source_type").text(),
		UpstreamStatus: in.get("source_status").text(),
	}
	proposal.StatedScoresTotal, _ = in.get("scores_total").power()
	if quorum, _ := in.get("quorum").power(); quorum != nil {
		proposal.QuorumRaw, proposal.Quorum = in.get("quorum").numberText(), quorum
	}
	if kind := in.get("quorumType").text(); kind == string(governance.QuorumOfRejection) {
		proposal.QuorumType = governance.QuorumOfRejection // "default" is the quorum of approval
	}
	if plugins := in.get("plugins"); typeOf(plugins.json) == typeObject {
		proposal.SetActions(pluginActions(plugins.json))
	}
	proposal.StartAt, proposal.StartDayOnly = timeOrDay(in.get("start"), in.get("start_day"))
	if end := in.get("end"); !end.isAfterLastYear() {
		proposal.EndAt, proposal.EndDayOnly = timeOrDay(end, in.get("end_day"))
	}
	return proposal
}

// readScores returns the stated scores, or nil if one of them is null: what is no number in
// floating point is written so.
func readScores(list value) []decimal.Decimal {
	var scores []decimal.Decimal
	for element := range list.elements() {
		score, _ := element.power()
		if score == nil {
			return nil
		}
		scores = append(scores, *score)
	}
	return scores
}

func readSnapshotVote(in object) record.Record {
	ballot := &record.Ballot{
		Proposal: record.ProposalRef{
			Provider:   governance.Snapshot,
			ExternalID: in.get("proposal").object().get("id").proposalID(),
		},
		VoteID: in.get("id").identifier(),
		Voter:  governance.VoterIdentity(in.get("voter").identifier()),
		Reason: in.get("reason").text(),
	}
	ballot.VotedAt, ballot.VotedDayOnly = timeOrDay(in.get("created"), in.get("created_day"))
	if power, rounded := in.get("vp").required(typeNumber).power(); power != nil {
		ballot.Power, ballot.PowerRounded = *power, rounded
		readChoice(in.get("choice"), ballot)
	}
	return ballot
}
