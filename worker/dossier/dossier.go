// Package dossier computes what a proposal does, who decided it, and what should worry a reader, from records
// alone: the same records give the same bytes. Read reads them, Compose reads nothing itself.
package dossier

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/rules"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Facts are the records that a dossier is computed from.
type Facts struct {
	// Proposal is the proposal, Detail and Votes are its published views.
	Proposal records.Proposal
	Detail   governance.ProposalDetail
	Votes    governance.VoteSummary
	// Quality are its quality flags, Conflicts its warnings.
	Quality   []governance.QualityFlag
	Conflicts []governance.Warning
	// AsOf is as of when the records are.
	AsOf governance.Timestamp
	// Casts are what was cast; the composer orders Ballots by time.
	pages.Casts
	// Known are the proposals of the DAO, and the proposer's elsewhere, in order of their ends.
	Known     []pages.KnownProposal
	Strongest []pages.StrongVoter
	// Returning is how many of the voters have voted in the DAO before.
	Returning uint64
	// Delegated is the power of the token's delegates at the snapshot; nil while there is none, or no token is known.
	Delegated *pages.DelegatedPower
	Topics    []records.Topic
	Actions   []record.Action
	// Before are executed actions before this proposal that concern the same addresses, the last first;
	// EarlierOmitted counts those beyond maxEarlier.
	Before         []EarlierAction
	EarlierOmitted int
	// Observed is what nodes showed, nil for nothing. Histories are what the DAO knew of the addresses before the
	// proposal was created.
	Observed  *records.Observation
	Histories map[string]AddressHistory
	// OpenedAt is when the first topics of proposals that this one is compared with were opened.
	OpenedAt map[record.RefHash]governance.Timestamp
	// Analysis is the imported analysis; nil for none.
	Analysis  *record.Evidence
	Contracts []record.Contract
}

type composer struct {
	Facts
	d governance.Dossier
	// byPower are the ballots, the largest first.
	byPower []pages.CountedBallot
	// race is how the vote went; nil if unknown. largestForLeader cast the leader's largest ballot; metAlone says
	// that without the ballot that met the quorum, it is missed.
	race             *race
	largestForLeader string
	metAlone         bool
	// earlier are the DAO's last ended proposals before end, at most maxCompared, without this one.
	earlier []pages.KnownProposal
	text    statedText
	before  history
	sources []governance.DossierSource
	decoded []abi.Decoded
	// payments are what calls move, sums the places of their sums by chain, token,
	// recipient, sender and whether an amount is stated.
	payments []payment
	sums     map[[5]string]int
	// strangers are the places of addresses without code that get money and that the DAO's history does not know.
	strangers []int
	// called are the contracts that are called, <chain>:<address>, and callers those in whose name the calls
	// inside actions are made. calls counts the calls inside actions.
	called  map[string]bool
	calls   int
	callers []string
}

const maxCompared = 50

const year = 365 * 24 * time.Hour

// end returns where the windows of the dossier end: the end of the vote, or AsOf while it is open.
func (f *Facts) end() governance.Timestamp {
	if f.Detail.EndAt != nil && *f.Detail.EndAt < f.AsOf {
		return *f.Detail.EndAt
	}
	return f.AsOf
}

// hasSnapshot reports whether the token that votes is known, and the power that counts was taken.
func (f *Facts) hasSnapshot() bool {
	return f.Proposal.VotingToken != "" && f.Detail.StartAt != nil && *f.Detail.StartAt <= f.AsOf && !f.Proposal.StartDayOnly
}

func (f *Facts) compared() (earlier []pages.KnownProposal) {
	for _, k := range f.endedIn(math.MinInt64, f.end()) {
		if k.Ref != f.Proposal.Ref && k.Lifecycle == governance.Closed {
			earlier = append(earlier, k)
		}
	}
	return earlier[max(0, len(earlier)-maxCompared):]
}

// Compose returns the dossier of a proposal as part of its evidence.
func Compose(f Facts) (governance.Intelligence, error) {
	c := composer{Facts: f}
	c.earlier = f.compared()
	c.text, c.before, c.decoded = textOf(f), historyOf(f), f.decode()
	c.addSources()
	c.vote()
	c.process()
	c.actions()
	c.d.Analyses = []governance.DossierAnalysis{}
	if a := f.Analysis; a != nil {
		c.d.Analyses = append(c.d.Analyses, governance.DossierAnalysis{
			ArtifactVersion: governance.OptionalText(a.ArtifactVersion), GeneratedAt: a.GeneratedAt, Dossier: json.RawMessage(a.Dossier),
			SourceRefs: json.RawMessage(a.SourceRefs), Warnings: json.RawMessage(a.Warnings),
		})
	}
	finder{&c}.find()
	c.summarize()
	return c.intelligence()
}

func (c *composer) intelligence() (governance.Intelligence, error) {
	dossier, err := governance.JSON(c.d)
	sources, errSources := governance.JSON(c.sources)
	warnings, errWarnings := governance.JSON(c.warnings())
	if err := errors.Join(err, errSources, errWarnings); err != nil {
		return governance.Intelligence{}, fmt.Errorf("encode a dossier: %w", err)
	}
	return governance.Intelligence{
		Status: governance.IntelligenceAvailable, Dossier: dossier, SourceRefs: sources, Warnings: warnings, GeneratedAt: new(c.newest()),
		ArtifactVersion: new(fmt.Sprintf("%d.%x", rules.FindingsVersion, digestOf([]any{c.d, c.sources})[:6])),
	}, nil
}

func (c *composer) newest() governance.Timestamp {
	newest := c.Proposal.ObservedAt
	for _, s := range c.sources {
		if s.ObservedAt != nil {
			newest = max(newest, *s.ObservedAt)
		}
	}
	for _, b := range c.Ballots {
		if b.VotedAt != nil {
			newest = max(newest, *b.VotedAt)
		}
	}
	if c.Analysis != nil {
		newest = max(newest, c.Analysis.GeneratedAt)
	}
	return newest
}

func digestOf(content any) []byte {
	text, _ := json.Marshal(content) // records encode
	sum := sha256.Sum256(text)
	return sum[:]
}

func (c *composer) warnings() []string {
	warnings := []string{}
	for _, flag := range rules.QualityFlags() {
		limits := []governance.QualityFlag{
			rules.BallotsMissing, rules.BallotsPartial, rules.BallotsUndated, rules.BallotsDayOnly, rules.TotalsDifferUpstream,
			rules.TotalsDisagree, rules.Provisional,
		}
		if slices.Contains(limits, flag.Flag) && slices.Contains(c.Quality, flag.Flag) {
			warnings = append(warnings, flag.Meaning)
		}
	}
	if len(c.Conflicts) > 0 {
		warnings = append(warnings, "Sources disagree: see warnings of the evidence.")
	}
	return warnings
}

// Ids of sources that findings name.
const (
	refProposal = "proposal"
	refActions  = "actions"
	refVotes    = "votes"
	refObserved = "observed"
)

func (c *composer) addSources() {
	add := func(id, kind, address string, observed *governance.Timestamp, content any) {
		if slices.ContainsFunc(c.sources, func(s governance.DossierSource) bool { return s.ID == id }) {
			return // one transaction may do several things
		}
		source := governance.DossierSource{ID: id, Kind: kind, Address: address, ObservedAt: observed}
		if content != nil {
			source.SHA256 = new(hex.EncodeToString(digestOf(content)))
		}
		c.sources = append(c.sources, source)
	}
	address := c.Proposal.SourceURL
	if address == "" {
		address = c.Proposal.SourceID + "/proposals/" + c.Proposal.ExternalID
	}
	add(refProposal, "proposal", address, &c.Proposal.ObservedAt, c.Proposal.Proposal)
	add(refVotes, "route", votesRoute(c.Detail.ProposalKey), nil, nil)
	if c.Delegated != nil {
		add("token", "contract", c.Proposal.VotingToken, nil, c.Delegated)
	}
	if o := c.Observed; o != nil {
		add(refObserved, "block", fmt.Sprintf("%s/%d", c.chain(), o.Block), &o.ObservedAt, o)
	}
	if len(c.Actions) > 0 {
		add(refActions, "proposal", address+"#actions", &c.Proposal.ObservedAt, c.Actions)
		for i, hash := 0, ""; i < len(c.Actions); i++ {
			if a := &c.Actions[i]; a.TxHash != "" && a.TxHash != hash {
				hash = a.TxHash
				add("transaction-"+hash, "transaction", a.Chain+"/"+hash, nil, nil)
			}
		}
	}
	for _, t := range c.Topics {
		add("topic-"+t.Host+"-"+t.ExternalID, "topic", "https://"+t.Host+"/t/"+t.ExternalID, t.LastPostAt, t.Topic)
	}
	for _, m := range c.Proposal.Milestones {
		if m.TxHash != "" {
			add("transaction-"+m.TxHash, "transaction", m.TxHash, m.At, nil)
		}
	}
}

func (c *composer) unknown(category, what, why, where string) {
	c.d.Unknowns = append(c.d.Unknowns, governance.DossierUnknown{Category: category, What: what, Why: why, Where: where})
}

func percent(part, whole decimal.Decimal) *governance.Decimal {
	if !whole.IsPositive() {
		return nil
	}
	return new(ratio(part.Mul(decimal.NewFromInt(100)), whole))
}

// places is the number of decimal places of shares.
const places = 4

// ratio returns a quotient rounded half to even.
func ratio(part, whole decimal.Decimal) governance.Decimal {
	quotient, rest := part.Shift(places).QuoRem(whole, 0)
	switch twice := rest.Abs().Mul(decimal.NewFromInt(2)).Cmp(whole); {
	case twice > 0, twice == 0 && quotient.Mod(decimal.NewFromInt(2)).Sign() != 0:
		quotient = quotient.Add(decimal.NewFromInt(int64(part.Sign())))
	}
	return governance.DecimalOf(quotient.Shift(-places))
}

func decimalOf(d decimal.Decimal) *governance.Decimal { return new(governance.DecimalOf(d)) }

func signed(d *governance.Decimal) *governance.SignedDecimal { return (*governance.SignedDecimal)(d) }

func countOf(n int) *governance.Decimal {
	return new(governance.CountOf(uint64(n))) //nolint:gosec // a length
}

func powerOf(text governance.Decimal) decimal.Decimal {
	d, _ := decimal.NewFromString(string(text)) // it was written by DecimalOf
	return d
}

func (c *composer) summarize() {
	var parts []string
	switch {
	case c.d.Actions == nil:
		parts = append(parts, "What it executes is not known.")
	case len(c.d.Actions) == 0:
		parts = append(parts, "It executes nothing by itself.")
	default:
		parts = append(parts, c.effectsInWords())
	}
	parts = append(parts, c.standing())
	if d := c.d.Decision; d.MarginPercent != nil {
		verb := map[bool]string{true: "led", false: "leads"}[d.LifecycleStatus == governance.Closed]
		if d.Leader == nil {
			parts = append(parts, "The leading choices are level.")
		} else {
			of := map[bool]string{true: "all power", false: "the scores"}[c.adds() || c.Proposal.VoteType == governance.RankedChoice]
			if rules.LackBallots(c.Quality) && *c.Votes.Basis == governance.BallotsBasis {
				of = "the power stored, others may be missing"
			}
			parts = append(parts, fmt.Sprintf("%s %s by %s %% of %s.", rules.Quoted(d.Leader.Label, 60), verb, *d.MarginPercent, of))
		}
	}
	if q := c.d.Decision.Quorum; q != nil && q.Reached != nil {
		name := map[bool]string{true: "quorum of rejection", false: "quorum"}[c.Proposal.QuorumType == governance.QuorumOfRejection]
		parts = append(parts, "The "+name+map[bool]string{true: " is reached.", false: " is not reached."}[*q.Reached])
	}
	var findings []string
	for _, severity := range governance.Severities() {
		if n := c.d.FindingCounts[severity]; n > 0 && severity != governance.SeverityInfo {
			findings = append(findings, fmt.Sprintf("%d %s", n, severity))
		}
	}
	if len(findings) > 0 {
		parts = append(parts, "Findings: "+strings.Join(findings, ", ")+".")
	}
	c.d.Summary = clip(strings.Join(parts, " "), 400)
}

func (c *composer) standing() string {
	switch c.Detail.LifecycleStatus {
	case governance.Pending:
		return "Voting has not begun."
	case governance.Active:
		return "Voting is open."
	case governance.Closed:
	}
	switch c.Detail.Outcome {
	case governance.Passed, governance.Failed:
		return "It " + string(c.Detail.Outcome) + "."
	case governance.Executed, governance.Canceled:
		return "It was " + string(c.Detail.Outcome) + "."
	case governance.Unknown:
	}
	return "Voting is over; the outcome is not known."
}

func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
