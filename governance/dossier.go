package governance

import "encoding/json"

// SignedDecimal is a Decimal that may be negative.
type SignedDecimal string

// Dossier is what a proposal does, who decided it, and what should worry a reader. Every part is
// there; what cannot be computed is null, and named in Unknowns. Shares are percent with at most
// four decimal places, rounded half to even.
type Dossier struct {
	Summary           string                `json:"summary"`
	Decision          DossierDecision       `json:"decision"`
	Participation     DossierParticipation  `json:"participation"`
	Concentration     *DossierConcentration `json:"concentration"`
	Course            *DossierCourse        `json:"course"`
	Voters            DossierVoters         `json:"voters"`
	Proposer          *DossierProposer      `json:"proposer"`
	Process           DossierProcess        `json:"process"`
	Actions           []DossierAction       `json:"actions"`
	ActionsStated     *Decimal              `json:"actionsStated"`
	Simulation        *DossierSimulation    `json:"simulation"`
	EarlierSimulation *DossierSimulation    `json:"earlierSimulation"`
	Addresses         []DossierParty        `json:"addresses"`
	Effects           DossierEffects        `json:"effects"`
	Findings          []Finding             `json:"findings"`
	HighestSeverity   *Severity             `json:"highestSeverity"`
	FindingCounts     map[Severity]int      `json:"findingCounts"`
	Unknowns          []DossierUnknown      `json:"unknowns"`
	Analyses          []DossierAnalysis     `json:"analyses"`
}

// DossierAnalysis is an analysis that an import brought.
type DossierAnalysis struct {
	ArtifactVersion *string         `json:"artifactVersion"`
	GeneratedAt     Timestamp       `json:"generatedAt"`
	Dossier         json.RawMessage `json:"dossier"`
	SourceRefs      json.RawMessage `json:"sourceRefs"`
	Warnings        json.RawMessage `json:"warnings"`
}

// DossierDecision is how a vote was decided.
type DossierDecision struct {
	VoteType        *string        `json:"voteType"`
	QuorumChoices   []string       `json:"quorumChoices"`
	LifecycleStatus Lifecycle      `json:"lifecycleStatus"`
	Outcome         Outcome        `json:"outcome"`
	Leader          *DossierChoice `json:"leader"`
	RunnerUp        *DossierChoice `json:"runnerUp"`
	MarginPower     *Decimal       `json:"marginPower"`
	MarginPercent   *Decimal       `json:"marginPercent"`
	Quorum          *DossierQuorum `json:"quorum"`
	DecidedAt       *Timestamp     `json:"decidedAt"`
	DecidingVoters  *Decimal       `json:"decidingVoters"`
}

// DossierChoice is a choice with its power.
type DossierChoice struct {
	Key         string  `json:"key"`
	Label       string  `json:"label"`
	VotingPower Decimal `json:"votingPower"`
}

// DossierQuorum compares the power that counts with the quorum.
type DossierQuorum struct {
	Type    QuorumType     `json:"type"`
	Needed  Decimal        `json:"needed"`
	Counted Decimal        `json:"counted"`
	Reached *bool          `json:"reached"`
	MetBy   *DossierBallot `json:"metBy"`
}

// DossierBallot is the ballot of a voter.
type DossierBallot struct {
	VoterIdentity string     `json:"voterIdentity"`
	ChoiceKeys    []string   `json:"choiceKeys"`
	VotingPower   Decimal    `json:"votingPower"`
	SharePercent  *Decimal   `json:"sharePercent"`
	VotedAt       *Timestamp `json:"votedAt"`
}

// DossierParticipation compares the turnout with other votes of the DAO.
type DossierParticipation struct {
	Voters        *Decimal          `json:"voters"`
	VotingPower   *Decimal          `json:"votingPower"`
	SupplyPercent *Decimal          `json:"supplyPercent"`
	Delegated     *DossierDelegated `json:"delegated"`
	Compared      int               `json:"compared"`
	MedianVoters  *Decimal          `json:"medianVoters"`
	Rank          *int              `json:"rank"`
	NewVoters     *Decimal          `json:"newVoters"`
}

// DossierDelegated is the power of the delegates of a token at the snapshot of a vote, the start of voting.
type DossierDelegated struct {
	Token           string   `json:"token"`
	Supply          *Decimal `json:"supply"`
	VotingPower     Decimal  `json:"votingPower"`
	SilentDelegates Decimal  `json:"silentDelegates"`
	SilentPower     Decimal  `json:"silentPower"`
	SilentPercent   *Decimal `json:"silentPercent"`
	GainedPower     Decimal  `json:"gainedPower"`
	LostPower       Decimal  `json:"lostPower"`
}

// DossierConcentration is how the power of ballots was distributed.
type DossierConcentration struct {
	LargestPercent Decimal `json:"largestPercent"`
	Top5Percent    Decimal `json:"top5Percent"`
	Top10Percent   Decimal `json:"top10Percent"`
	Nakamoto       Decimal `json:"nakamoto"`
	// Gini is (2·Σ i·xᵢ ÷ (n·Σ xᵢ)) − (n+1) ÷ n over powers xᵢ in ascending order, with four decimal places.
	Gini Decimal `json:"gini"`
}

// DossierCourse is how a vote went.
type DossierCourse struct {
	Tenths           []DossierPeriod `json:"tenths"`
	FirstHour        DossierPeriod   `json:"firstHour"`
	LastHour         DossierPeriod   `json:"lastHour"`
	LastTenPercent   DossierPeriod   `json:"lastTenPercent"`
	LeaderChanges    *int            `json:"leaderChanges"`
	Recasts          Decimal         `json:"recasts"`
	SideChanges      Decimal         `json:"sideChanges"`
	LateSwingPower   *SignedDecimal  `json:"lateSwingPower"`
	LateLeaderChange *bool           `json:"lateLeaderChange"`
}

// DossierPeriod is a part of the voting time.
type DossierPeriod struct {
	Ballots     Decimal `json:"ballots"`
	VotingPower Decimal `json:"votingPower"`
}

// DossierVoters are who decided.
type DossierVoters struct {
	Strongest []DossierStrongVoter `json:"strongest"`
	Largest   []DossierBallot      `json:"largest"`
}

// DossierStrongVoter is one of a DAO's strongest voters.
type DossierStrongVoter struct {
	VoterIdentity string         `json:"voterIdentity"`
	YearPower     Decimal        `json:"yearPower"`
	Ballot        *DossierBallot `json:"ballot"`
}

// DossierProposer is what is known of an author.
type DossierProposer struct {
	ProposerID string `json:"proposerId"`
	// Here and Elsewhere count outcomes without what upstream dates after the end of this vote.
	Here        map[Outcome]int `json:"here"`
	Elsewhere   map[Outcome]int `json:"elsewhere"`
	FirstSeenAt *Timestamp      `json:"firstSeenAt"`
	VotesCast   *Decimal        `json:"votesCast"`
	OwnBallot   *DossierBallot  `json:"ownBallot"`
	OpenHere    int             `json:"openHere"`
}

// DossierProcess is how a proposal came about.
type DossierProcess struct {
	Topics               []DossierTopic   `json:"topics"`
	DiscussionDays       *SignedDecimal   `json:"discussionDays"`
	MedianDiscussionDays *SignedDecimal   `json:"medianDiscussionDays"`
	VotingHours          *Decimal         `json:"votingHours"`
	MedianVotingHours    *Decimal         `json:"medianVotingHours"`
	UpdatedAfterStart    *bool            `json:"updatedAfterStart"`
	ActionsChangedAt     *Timestamp       `json:"actionsChangedAt"`
	Extended             bool             `json:"extended"`
	QueuedAt             *Timestamp       `json:"queuedAt"`
	ExecutedAt           *Timestamp       `json:"executedAt"`
	ExecutableAt         *Timestamp       `json:"executableAt"`
	ExpiresAt            *Timestamp       `json:"expiresAt"`
	Similar              []DossierSimilar `json:"similar"`
}

// DossierTopic is a linked discussion.
type DossierTopic struct {
	Host         string     `json:"host"`
	ExternalID   string     `json:"externalId"`
	Title        string     `json:"title"`
	CreatedAt    *Timestamp `json:"createdAt"`
	Replies      Decimal    `json:"replies"`
	Participants *Decimal   `json:"participants"`
	ByProposer   bool       `json:"byProposer"`
}

// DossierSimilar is an earlier proposal like this one.
type DossierSimilar struct {
	ProposalKey  ProposalKey `json:"proposalKey"`
	Outcome      Outcome     `json:"outcome"`
	EndAt        *Timestamp  `json:"endAt"`
	SameActions  bool        `json:"sameActions"`
	SimilarTitle bool        `json:"similarTitle"`
}

// DossierAction is a call, with the calls inside.
type DossierAction struct {
	Index        int               `json:"index"`
	Chain        *string           `json:"chain"`
	Target       DossierAddress    `json:"target"`
	Operation    string            `json:"operation"`
	Kind         string            `json:"kind"`
	Function     *string           `json:"function"`
	Selector     *string           `json:"selector"`
	Alternatives []string          `json:"alternatives"`
	Arguments    []DossierArgument `json:"arguments"`
	Value        Decimal           `json:"value"`
	Transfer     *DossierTransfer  `json:"transfer"`
	InText       *DossierInText    `json:"inText"`
	Undecoded    *string           `json:"undecoded"`
	Calls        []DossierAction   `json:"calls"`
	Omitted      int               `json:"omitted"`
}

// DossierAddress is an address and what is known of it.
type DossierAddress struct {
	Address  string  `json:"address"`
	Name     *string `json:"name"`
	Contract *bool   `json:"contract"`
	Proxy    *bool   `json:"proxy"`
}

// DossierParty is an address that the actions involve.
type DossierParty struct {
	Chain *string `json:"chain"`

	DossierAddress
	Implementation *string      `json:"implementation"`
	Block          *Decimal     `json:"block"`
	PaidBy         *ProposalKey `json:"paidBy"`
	Proposals      Decimal      `json:"proposals"`
	Ballots        Decimal      `json:"ballots"`
}

// The results of a simulation.
const (
	SimulationSucceeds    = "success"
	SimulationReverts     = "revert"
	SimulationUnknown     = "unknown"
	SimulationUnavailable = "unavailable"
)

// MaxMovements bounds the transfers that are kept of a simulation.
const MaxMovements = 100

// DossierSimulation is what executing the actions would have done, as a node says.
type DossierSimulation struct {
	Method    *string                `json:"method"`
	Executor  string                 `json:"executor"`
	Block     Decimal                `json:"block"`
	At        Timestamp              `json:"at"`
	Result    string                 `json:"result"`
	Reason    *string                `json:"reason"`
	Calls     []DossierSimulatedCall `json:"calls"`
	Omitted   int                    `json:"omitted"`
	Transfers []DossierMovement      `json:"transfers"`
}

// DossierSimulatedCall is what came of a call.
type DossierSimulatedCall struct {
	Success bool     `json:"success"`
	Reason  *string  `json:"reason"`
	GasUsed *Decimal `json:"gasUsed"`
}

// DossierMovement is a transfer that a simulation shows.
type DossierMovement struct {
	Token *string `json:"token"`
	From  string  `json:"from"`
	To    string  `json:"to"`
	Units Decimal `json:"units"`
}

// DossierArgument is a decoded argument.
type DossierArgument struct {
	Name        *string           `json:"name"`
	Type        string            `json:"type"`
	Value       *string           `json:"value"`
	AddressName *string           `json:"addressName"`
	Items       []DossierArgument `json:"items"`
	Unlimited   bool              `json:"unlimited"`
}

// DossierTransfer is money that a call moves.
type DossierTransfer struct {
	Token    *string  `json:"token"`
	Symbol   *string  `json:"symbol"`
	Decimals *int     `json:"decimals"`
	Amount   *Decimal `json:"amount"`
	From     *string  `json:"from"`
	To       string   `json:"to"`
}

// DossierInText says what the text states of a payment; null where that cannot be told.
type DossierInText struct {
	Target    *bool `json:"target"`
	Recipient *bool `json:"recipient"`
	Amount    *bool `json:"amount"`
}

// DossierEffects sums up actions.
type DossierEffects struct {
	Transfers   []DossierSum        `json:"transfers"`
	Permissions []DossierPermission `json:"permissions"`
	Settings    []DossierSetting    `json:"settings"`
}

// DossierSum is what leaves to one recipient.
type DossierSum struct {
	Chain *string `json:"chain"`

	DossierTransfer
}

// DossierPermission is power that an action grants or takes.
type DossierPermission struct {
	Action string  `json:"action"`
	Change string  `json:"change"`
	Kind   string  `json:"kind"`
	On     string  `json:"on"`
	What   string  `json:"what"`
	To     *string `json:"to"`
}

// DossierSetting is a setting that an action changes.
type DossierSetting struct {
	Action   string  `json:"action"`
	On       string  `json:"on"`
	Function string  `json:"function"`
	New      string  `json:"new"`
	Old      *string `json:"old"`
}

// Severity says how much a finding matters.
type Severity string

// The severities. SeverityUnknown is of what may be as bad as anything, and cannot be told.
const (
	SeverityCritical Severity = "critical"
	SeverityHigh     Severity = "high"
	SeverityUnknown  Severity = "unknown"
	SeverityMedium   Severity = "medium"
	SeverityLow      Severity = "low"
	SeverityInfo     Severity = "info"
)

// Severities lists every Severity, the severest first.
func Severities() []Severity {
	return []Severity{SeverityCritical, SeverityHigh, SeverityUnknown, SeverityMedium, SeverityLow, SeverityInfo}
}

// Finding is something that a reader should know before voting.
type Finding struct {
	Rule        string   `json:"rule"`
	RuleVersion int      `json:"ruleVersion"`
	Severity    Severity `json:"severity"`
	Sentence    string   `json:"sentence"`
	Facts       []string `json:"facts"`
	Refs        []string `json:"refs"`
}

// DossierUnknown is something that could not be computed.
type DossierUnknown struct {
	Category string `json:"category"`
	What     string `json:"what"`
	Why      string `json:"why"`
	Where    string `json:"where"`
}

// DossierSource is a record that a dossier rests on.
type DossierSource struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Address    string     `json:"address"`
	ObservedAt *Timestamp `json:"observedAt"`
	// SHA256 is the hash, in hexadecimal, of the record as it is stored: another one says that the record has
	// changed. No answer has the bytes. It is nil for a route.
	SHA256 *string `json:"sha256"`
}
