package chain

import (
	_ "embed" // events.txt
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// eventKind is what an event of a Governor or a timelock says.
type eventKind string

const (
	eventCreated eventKind = "created"
	// eventText replaces a proposal's text.
	eventText eventKind = "text"
	// eventActions replaces what a proposal executes.
	eventActions eventKind = "actions"
	// eventEnd replaces the end of voting; eventExtended, too, because the quorum was reached late.
	eventEnd      eventKind = "end"
	eventExtended eventKind = "extended"
	// eventVote adds power to a voter's ballot, eventReduced takes power from it.
	eventVote    eventKind = "vote"
	eventReduced eventKind = "reduced"
	// eventQueued, eventExecuted, eventCanceled and eventVetoed are milestones.
	eventQueued   eventKind = "queued"
	eventExecuted eventKind = "executed"
	eventCanceled eventKind = "canceled"
	eventVetoed   eventKind = "vetoed"
	// eventParameters changes what calls to the contract say, eventUpgraded how it counts, too.
	eventParameters eventKind = "parameters"
	eventUpgraded   eventKind = "upgraded"
	// eventScheduled and eventDone are events of a timelock's operation.
	eventScheduled eventKind = "scheduled"
	eventDone      eventKind = "done"
	// eventOther says nothing about a proposal or a ballot that another event does not say.
	eventOther eventKind = "other"
)

// layout is the kind and the parameters of an event. Which are indexed differs: the number of topics tells.
type layout struct {
	kind  eventKind
	types []string
}

// ofModule begins the parameters of a proposal whose votes a module counts.
const ofModule = "uint256,address,address,bytes,uint256,uint256,string"

//go:embed events.txt
var eventRows string

// layouts returns the events by topic, the hash of their signature.
var layouts = sync.OnceValue(func() map[string]layout { //nolint:gochecknoglobals // a table
	table := map[string]layout{}
	for row := range strings.Lines(eventRows) {
		kind, signature, stated := strings.Cut(strings.TrimSpace(row), " ")
		if stated && kind != "#" {
			_, types, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
			table[keccak(signature)] = layout{eventKind(kind), strings.Split(types, ",")}
		}
	}
	return table
})

type event struct {
	kind eventKind
	// proposal is the decimal id; for a timelock the id of the operation in hexadecimal.
	proposal string
	// voter is the address of a voter, proposer the address of a new proposal's author.
	voter, proposer string
	// sides is the power of a vote in smallest units, in the order of governorSides; parts is how its params divide
	// it, where they may. The contract's mode says which counts.
	sides [3]*big.Int
	parts *[3]*big.Int
	// start and end are clock values; of a queued proposal, end is the earliest execution in seconds.
	start, end *big.Int
	// text is the description of a proposal or the reason of a vote.
	text string
	// actions are what a proposal executes; nil where the event does not say.
	actions []*record.Action
}

// governorSides returns the choices in the order of support: 0, 1, 2.
func governorSides() [3]string {
	return [3]string{governance.GovernorAgainst, governance.GovernorFor, governance.GovernorAbstain}
}

// parse decodes a log. The error says what is wrong with it.
func parse(topics []string, data string) (event, error) {
	if len(topics) == 0 {
		return event{}, fmt.Errorf("%w: no topics", errLayout)
	}
	of, known := layouts()[topics[0]]
	if !known {
		return event{}, fmt.Errorf("unknown event %s: what it states is not stored", fetch.Clip(topics[0]))
	}
	if of.kind == eventOther {
		return event{kind: eventOther}, nil
	}
	bytes, err := unhex(data)
	if err != nil {
		return event{}, err
	}
	values, err := decode(of.types, topics[1:], bytes)
	if err != nil {
		return event{}, err
	}
	e := event{kind: of.kind}
	switch of.kind {
	case eventParameters, eventUpgraded:
		return e, nil
	case eventScheduled, eventDone:
		e.proposal = values.text(0)
		return e, nil
	case eventVote, eventReduced:
		return e, e.readVote(of, values)
	default:
	}
	e.proposal = values.number(0).String()
	if len(of.types) > calldatas && of.types[calldatas] == "bytes[]" {
		e.actions = readActions(of.types[len(topics)-1:], bytes)
	}
	switch of.kind {
	case eventCreated:
		first := 6
		if strings.HasPrefix(strings.Join(of.types, ","), ofModule) {
			first = 4
		}
		e.proposer, e.start, e.end, e.text = values.text(1), values.number(first), values.number(first+1), validText(values.text(first+2))
	case eventText:
		e.text = validText(values.text(len(values) - 2))
	case eventEnd, eventExtended, eventQueued:
		e.end = values.number(1)
	default:
	}
	return e, nil
}

// calldatas is the place of the calldata in an event that states actions: after targets, values and signatures.
const calldatas = 5

// readActions reads the actions in the data of a log; nil if they are not coded as the event
// declares. Texts are read as bytes: what a proposal executes is known whatever its text is.
func readActions(types []string, data []byte) []*record.Action {
	at := slices.Index(types, "bytes[]")
	if at < calldatas-2 { // the targets are in a topic
		return nil
	}
	values, err := abi.DecodeValues("("+strings.ReplaceAll(strings.Join(types, ","), "string", "bytes")+")", data)
	if err != nil {
		return nil
	}
	targets := values[at-3].Items
	actions := make([]*record.Action, len(targets))
	for _, column := range values[at-2 : at+1] {
		if len(column.Items) != len(targets) {
			return nil
		}
	}
	for i, target := range targets {
		signature := string(values[at-1].Items[i].Bytes())
		if len(signature) > record.MaxSignature {
			return nil
		}
		actions[i] = &record.Action{
			Target: target.Value, Value: values[at-2].Items[i].Value, Signature: validText(signature), Calldata: values[at].Items[i].Bytes(),
		}
	}
	return actions
}

// validText replaces what is not UTF-8: a vote counts whatever bytes its reason has.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func (e *event) readVote(of layout, values fields) error {
	e.voter, e.proposal = values.text(0), values.number(1).String()
	if len(values) > 4 {
		e.text = validText(values.text(4))
	}
	if slices.Contains(of.types, "bytes") {
		params, _ := values[5].([]byte) // the table says what it is
		e.readParts(params)
	}
	support, weight := values.number(2).Uint64(), values.number(3)
	switch {
	case support < uint64(len(e.sides)):
		e.sides[support] = weight
	case e.parts == nil:
		return fmt.Errorf("%w: support %d", errLayout, support)
	}
	return nil
}

// readParts reads how params divide a vote. Others mean something to a module.
func (e *event) readParts(params []byte) {
	const partsBytes = 3 * 16 // the length of the params of a vote in parts: three numbers of 128 bits, against, for, abstain
	if len(params) != partsBytes {
		return
	}
	e.parts = &[3]*big.Int{}
	width := partsBytes / len(e.parts)
	for i := range e.parts {
		e.parts[i] = new(big.Int).SetBytes(params[i*width : (i+1)*width])
	}
}

// powers returns the power of a vote by side. A contract that counts in parts takes them from the params whatever
// the support is; elsewhere they count only where the support is no side.
func (e *event) powers(of rules) [3]*big.Int {
	switch parts := e.parts; {
	case parts == nil, !of.InParts && e.sides != [3]*big.Int{}:
		return e.sides
	case of.ForFirst != nil && *of.ForFirst:
		return [3]*big.Int{parts[1], parts[0], parts[2]}
	default:
		return *parts
	}
}

// topics returns the topics of the events of some kinds, ordered.
func topics(kinds ...eventKind) (of []string) {
	for topic, layout := range layouts() {
		if slices.Contains(kinds, layout.kind) {
			of = append(of, topic)
		}
	}
	slices.Sort(of)
	return of
}

// storedLog returns a log as the warehouse keeps it, with what it is about.
func storedLog(chainID uint64, governor string, l chainLog, e event) records.ChainLog {
	at := header{Time: *l.BlockTime}
	return records.ChainLog{
		ChainLogKey: records.ChainLogKey{Governor: governor, ProposalID: e.proposal, Voter: e.voter},
		ChainID:     chainID, BlockNumber: uint64(l.BlockNumber), BlockHash: l.BlockHash, LogIndex: uint32(l.index()), //nolint:gosec // a block has fewer
		Address: strings.ToLower(l.Address), TxHash: l.TxHash, BlockAt: at.at(), Topics: l.Topics, Data: l.Data,
	}
}
