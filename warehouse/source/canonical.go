package source

import (
	"cmp"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
)

// canonicalVersion is the version of the canonical lines that README.md tables.
const canonicalVersion = "1"

// readCanonical reads a line that says itself what it is.
func readCanonical(in object) record.Record {
	if version := in.get("version"); string(version.json) != canonicalVersion {
		if version.must(kindNumber) {
			version.refuseFor(canonicalVersion)
		}
		return nil
	}
	switch oneOf(in.get("record"), "dao", "event", "signal", "evidence") {
	case "dao":
		return readDAO(in)
	case "event":
		return readEvent(in)
	case "signal":
		return readSignal(in)
	default:
		return readEvidence(in)
	}
}

func readEvent(in object) *record.Event {
	event := &record.Event{
		ID:         in.get("eventId").identifier(),
		Type:       oneOf(in.get("eventType"), rules.EventTypeNames()...),
		At:         in.get("eventTimeMs").knownTime(),
		DAOID:      in.get("daoId").identifier(),
		Title:      in.get("title").text(),
		URL:        in.get("url").text(),
		Proposal:   optionalProposal(in.get("proposal")),
		Confidence: "exact",
		Importance: in.get("importanceScore").percentage(),
	}
	event.ItemType = "dao"
	if event.Proposal != nil {
		event.ItemType = "proposal"
	}
	if stated := in.get("itemType"); !stated.absent() {
		event.ItemType = oneOf(stated, "proposal", "topic", "dao")
	}
	if stated := in.get("eventTimeConfidence"); !stated.absent() {
		event.Confidence = string(oneOf(stated, governance.Confidences()...))
	}
	return event
}

func readSignal(in object) *record.Signal {
	signal := &record.Signal{
		ID:            in.get("signalId").identifier(),
		Type:          oneOf(in.get("signalType"), rules.SignalTypeNames()...),
		DAOID:         in.get("daoId").identifier(),
		Proposal:      optionalProposal(in.get("proposal")),
		Title:         in.get("title").text(),
		Summary:       in.get("summary").text(),
		SourceURL:     in.get("sourceUrl").text(),
		Actionability: in.get("actionability").text(),
		Severity:      in.get("severity").text(),
		Score:         in.get("priority").object().get("score").percentage(),
		Surfaces:      []string{"agent"},
		DetectedAt:    in.get("detectedAt").knownTime(),
		DeadlineAt:    in.get("deadlineAt").time(),
		Evidence:      in.get("evidence").compactOr(kindObject, "{}"),
	}
	if stated := in.get("surfaces"); !stated.absent() {
		signal.Surfaces = surfaces(stated)
	}
	return signal
}

func surfaces(stated value) []string {
	var surfaces []string
	for surface := range stated.list() {
		surfaces = append(surfaces, string(oneOf(surface, governance.Surfaces()...)))
	}
	return surfaces
}

func readEvidence(in object) *record.Evidence {
	return &record.Evidence{
		Proposal:        proposalRef(in.get("proposal")),
		ArtifactVersion: in.get("artifactVersion").text(),
		GeneratedAt:     in.get("generatedAt").knownTime(),
		Dossier:         in.get("dossier").compactOr(kindObject, "{}"),
		SourceRefs:      in.get("sourceRefs").compactOr(kindList, "[]"),
		Warnings:        in.get("warnings").compactOr(kindList, "[]"),
	}
}

func optionalProposal(stated value) *record.ProposalRef {
	if stated.absent() {
		return nil
	}
	proposal := proposalRef(stated)
	return &proposal
}

func proposalRef(stated value) record.ProposalRef {
	if !stated.must(kindObject) {
		return record.ProposalRef{}
	}
	in := stated.object()
	return record.ProposalRef{
		Provider:   oneOf(in.get("provider"), governance.Snapshot, governance.Tally),
		ExternalID: in.get("externalId").identifier(),
	}
}

// compactOr returns a value of some kind as compact JSON, or what stands for none.
func (v value) compactOr(wanted kind, none string) string {
	if !v.is(wanted) {
		return none
	}
	return cmp.Or(compact(v.json), none)
}
