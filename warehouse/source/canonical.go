package source

import (
	"cmp"
	"strings"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
)

// readCanonical reads a line that states its own kind of record.
func readCanonical(in object) record.Record {
	const canonicalVersion = "1" // the version of the canonical lines that docs/sources.md documents
	if version := in.get("version"); string(version.json) != canonicalVersion {
		if version.require(typeNumber) {
			version.rejectUnlike(canonicalVersion)
		}
		return nil
	}
	switch oneOf(in.get("record"), "dao", "event", "signal", "evidence", "action", "delegation", "delegate_power", "token_supply", "name") {
	case "dao":
		return readDAO(in)
	case "event":
		return readEvent(in)
	case "signal":
		return readSignal(in)
	case "action":
		return readAction(in)
	case "delegation":
		return readDelegation(in)
	case "delegate_power":
		return &record.DelegatePower{Placed: readPlaced(in, false), Delegate: readHolder(in.get("delegate")), Power: readAmount(in.get("votingPower"))}
	case "token_supply":
		return &record.TokenSupply{Placed: readPlaced(in, false), Supply: readAmount(in.get("supply"))}
	case "name":
		return readName(in)
	default:
		return readEvidence(in)
	}
}

// readEvent reads a recorded event. Its item is by default the proposal that it names, or the DAO.
func readEvent(in object) *record.Event {
	event := &record.Event{
		ID:         in.get("eventId").identifier(),
		Type:       oneOf(in.get("eventType"), rules.EventTypeNames()...),
		At:         in.get("eventTimeMs").requiredTime(),
		DAOID:      in.get("daoId").identifier(),
		Title:      in.get("title").text(),
		URL:        in.get("url").text(),
		Proposal:   readOptionalProposalRef(in.get("proposal")),
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

// readSignal reads a recorded signal. Its surfaces default to "agent".
func readSignal(in object) *record.Signal {
	signal := &record.Signal{
		ID:            in.get("signalId").identifier(),
		Type:          oneOf(in.get("signalType"), rules.SignalTypeNames()...),
		DAOID:         in.get("daoId").identifier(),
		Proposal:      readOptionalProposalRef(in.get("proposal")),
		Title:         in.get("title").text(),
		Summary:       in.get("summary").text(),
		SourceURL:     in.get("sourceUrl").text(),
		Actionability: in.get("actionability").text(),
		Severity:      in.get("severity").text(),
		Score:         in.get("priority").object().get("score").percentage(),
		Surfaces:      []string{"agent"},
		DetectedAt:    in.get("detectedAt").requiredTime(),
		DeadlineAt:    in.get("deadlineAt").time(),
		Evidence:      in.get("evidence").compactOr(typeObject, "{}"),
	}
	if stated := in.get("surfaces"); !stated.absent() {
		signal.Surfaces = nil
		for surface := range stated.elements() {
			signal.Surfaces = append(signal.Surfaces, string(oneOf(surface, governance.Surfaces()...)))
		}
	}
	return signal
}

func readEvidence(in object) *record.Evidence {
	return &record.Evidence{
		Proposal:        readProposalRef(in.get("proposal")),
		ArtifactVersion: in.get("artifactVersion").text(),
		GeneratedAt:     in.get("generatedAt").requiredTime(),
		Dossier:         in.get("dossier").compactOr(typeObject, "{}"),
		SourceRefs:      in.get("sourceRefs").compactOr(typeArray, "[]"),
		Warnings:        in.get("warnings").compactOr(typeArray, "[]"),
	}
}

// readOptionalProposalRef returns the proposal that a line is about, or nil.
func readOptionalProposalRef(stated value) *record.ProposalRef {
	if stated.absent() {
		return nil
	}
	proposal := readProposalRef(stated)
	return &proposal
}

func readProposalRef(stated value) record.ProposalRef {
	if !stated.require(typeObject) {
		return record.ProposalRef{}
	}
	in := stated.object()
	provider := oneOf(in.get("provider"), governance.ProposalProviders()...)
	id := in.get("externalId")
	if provider != governance.Governor {
		return record.ProposalRef{Provider: provider, ExternalID: id.identifier()}
	}
	ref := record.ProposalRef{Provider: provider, ExternalID: strings.ToLower(id.identifier())}
	if governor, _, found := strings.Cut(ref.ExternalID, "/"); !found || !governance.IsGovernorID(governor) {
		id.rejectUnlike("eip155:<chain>:<address>/<number>")
	}
	return ref
}

// compactOr returns a value of the wanted type as compact JSON, or the fallback if there is none.
func (v value) compactOr(wanted jsonType, fallback string) string {
	if !v.is(wanted) {
		return fallback
	}
	return cmp.Or(compactJSON(v.json), fallback)
}
