package governance

import "encoding/json"

// SignedDecimal is a Decimal that may be negative.
type SignedDecimal string

// Dossier is what a proposal does, who decided it, and what should worry a reader. Every part is
// there; what cannot be computed is null, and named in Unknowns. Shares are percent with at most
// four decimal places, rounded half to even.
type Dossier struct {
	// Summary says in at most 400 characters what the proposal does, where it stands and by what margin.
	Summary string `json:"summary"`
	// Decision is how the vote was decided.
	Decision DossierDecision `json:"decision"`
	// Participation compares the turnout with other votes of the DAO.
	Participation DossierParticipation `json:"participation"`
	// Concentration is how the power was distributed; null unless every ballot is stored and counts.
	Concentration *DossierConcentration `json:"concentration"`
	// Course is how the vote went; null unless every ballot and its time is known.
	Course *DossierCourse `json:"course"`
	// Voters are who decided.
	Voters DossierVoters `json:"voters"`
	// Proposer is what is known of the author; null if upstream states none.
	Proposer *DossierProposer `json:"proposer"`
	// Process is how the proposal came about.
	Process DossierProcess `json:"process"`
	// Actions are the calls that the proposal executes; null if they are not known.
	Actions []DossierAction `json:"actions"`
	// ActionsStated is the number of calls that upstream states; null if it states nothing.
	ActionsStated *Decimal `json:"actionsStated"`
	// Simulation is the latest simulation of the actions, while they could still be executed; null for none.
	Simulation *DossierSimulation `json:"simulation"`
	// EarlierSimulation is the last one before with another result: what failed since may have changed in between.
	EarlierSimulation *DossierSimulation `json:"earlierSimulation"`
	// Addresses are those that are called, or get money or power, at most 100.
	Addresses []DossierParty `json:"addresses"`
	// Effects sums up the actions, the calls inside included.
	Effects DossierEffects `json:"effects"`
	// Findings are what should worry a reader, the severest first.
	Findings []Finding `json:"findings"`
	// HighestSeverity is the severity of the first finding that is not info; null without one. Unknown stands beside high.
	HighestSeverity *Severity `json:"highestSeverity"`
	// FindingCounts is the number of findings by severity.
	FindingCounts map[Severity]int `json:"findingCounts"`
	// Unknowns are what could not be computed, and where a person can look.
	Unknowns []DossierUnknown `json:"unknowns"`
	// Analyses are those that were imported, unchanged.
	Analyses []DossierAnalysis `json:"analyses"`
}

// DossierAnalysis is an analysis that an import brought.
type DossierAnalysis struct {
	// ArtifactVersion is its version, GeneratedAt when it was made.
	ArtifactVersion *string   `json:"artifactVersion"`
	GeneratedAt     Timestamp `json:"generatedAt"`
	// Dossier, SourceRefs and Warnings are its contents, with every digit.
	Dossier    json.RawMessage `json:"dossier"`
	SourceRefs json.RawMessage `json:"sourceRefs"`
	Warnings   json.RawMessage `json:"warnings"`
}

// DossierDecision is how a vote was decided.
type DossierDecision struct {
	// VoteType is the voting system; null if upstream states none.
	VoteType *string `json:"voteType"`
	// QuorumChoices are the keys of the choices that count towards the quorum; null for all.
	QuorumChoices []string `json:"quorumChoices"`
	// LifecycleStatus and Outcome are where the proposal stands.
	LifecycleStatus Lifecycle `json:"lifecycleStatus"`
	Outcome         Outcome   `json:"outcome"`
	// Leader and RunnerUp are the choices with the most power; null without power, without a second choice, and in a tie
	// for the lead.
	Leader   *DossierChoice `json:"leader"`
	RunnerUp *DossierChoice `json:"runnerUp"`
	// MarginPower is the difference of the two, MarginPercent its share of all power.
	MarginPower   *Decimal `json:"marginPower"`
	MarginPercent *Decimal `json:"marginPercent"`
	// Quorum is null where there is none.
	Quorum *DossierQuorum `json:"quorum"`
	// DecidedAt is the time of the ballot after which no later one changed the leader. Null unless all ballots and their
	// times are stored, the result is final, and scores are the sums of what they give.
	DecidedAt *Timestamp `json:"decidedAt"`
	// DecidingVoters is the smallest number of voters for the first choice who, all voting for the second instead, would
	// have changed the result: the second leads, the two are level in a vote for or against, or the quorum is missed.
	// Abstentions are neither. Null where ballots are missing, not final or can support several choices, and where the
	// lead does not decide.
	DecidingVoters *Decimal `json:"decidingVoters"`
}

// DossierChoice is a choice with its power.
type DossierChoice struct {
	// Key is the key of the choice, Label its text, VotingPower its score.
	Key         string  `json:"key"`
	Label       string  `json:"label"`
	VotingPower Decimal `json:"votingPower"`
}

// DossierQuorum compares the power that counts with the quorum.
type DossierQuorum struct {
	// Type says what the quorum is needed for.
	Type QuorumType `json:"type"`
	// Needed is the power that is needed, more than which rejects where the quorum is one of rejection; Counted is the
	// power that counts.
	Needed  Decimal `json:"needed"`
	Counted Decimal `json:"counted"`
	// Reached says whether it is reached; null where ballots that are missing may reach it.
	Reached *bool `json:"reached"`
	// MetBy is the ballot with which it was met; null where it was not, or ballots or times are missing.
	MetBy *DossierBallot `json:"metBy"`
}

// DossierBallot is the ballot of a voter.
type DossierBallot struct {
	// VoterIdentity is the voter, ChoiceKeys are the choices that the ballot supports.
	VoterIdentity string   `json:"voterIdentity"`
	ChoiceKeys    []string `json:"choiceKeys"`
	// VotingPower is its power, SharePercent the share of all power.
	VotingPower  Decimal  `json:"votingPower"`
	SharePercent *Decimal `json:"sharePercent"`
	// VotedAt is when it was cast; null where unknown.
	VotedAt *Timestamp `json:"votedAt"`
}

// DossierParticipation compares the turnout with other votes of the DAO.
type DossierParticipation struct {
	// Voters is the number of ballots that count, VotingPower their sum; null while vote data is not ready.
	Voters      *Decimal `json:"voters"`
	VotingPower *Decimal `json:"votingPower"`
	// SupplyPercent is the share of the supply at the snapshot that voted; null where it is not stored.
	SupplyPercent *Decimal `json:"supplyPercent"`
	// Delegated is the power of the token's delegates at the snapshot; null unless every statement of the token is
	// stored, and ballots have the power that it states.
	Delegated *DossierDelegated `json:"delegated"`
	// Compared is the number of the DAO's last 50 ended proposals, of those that ended before this one, or before now,
	// with all voters known; MedianVoters is the median of their voters, and Rank the place among them and this one, from 1
	// for the most voters.
	Compared     int      `json:"compared"`
	MedianVoters *Decimal `json:"medianVoters"`
	Rank         *int     `json:"rank"`
	// NewVoters is the number of voters without a ballot on a proposal of the DAO that ended before this one began; null
	// where ballots on one of these may be missing.
	NewVoters *Decimal `json:"newVoters"`
}

// DossierDelegated is the power of the delegates of a token at the snapshot of a vote, the start of voting.
type DossierDelegated struct {
	// Token is eip155:<chain>:<address>, Supply its supply; null if not stored.
	Token  string   `json:"token"`
	Supply *Decimal `json:"supply"`
	// VotingPower is the power of all delegates. SilentDelegates have some and no ballot: SilentPower, which is
	// SilentPercent of it.
	VotingPower     Decimal  `json:"votingPower"`
	SilentDelegates Decimal  `json:"silentDelegates"`
	SilentPower     Decimal  `json:"silentPower"`
	SilentPercent   *Decimal `json:"silentPercent"`
	// GainedPower and LostPower are the sums of what delegates gained and lost between the proposal and its snapshot.
	GainedPower Decimal `json:"gainedPower"`
	LostPower   Decimal `json:"lostPower"`
}

// DossierConcentration is how the power of ballots was distributed.
type DossierConcentration struct {
	// LargestPercent, Top5Percent and Top10Percent are shares of all power.
	LargestPercent Decimal `json:"largestPercent"`
	Top5Percent    Decimal `json:"top5Percent"`
	Top10Percent   Decimal `json:"top10Percent"`
	// Nakamoto is the smallest number of voters with more than half of all power.
	Nakamoto Decimal `json:"nakamoto"`
	// Gini is (2·Σ i·xᵢ ÷ (n·Σ xᵢ)) − (n+1) ÷ n over powers xᵢ in ascending order, with four decimal places.
	Gini Decimal `json:"gini"`
}

// DossierCourse is how a vote went.
type DossierCourse struct {
	// Tenths are the ballots and power in each tenth of the voting time.
	Tenths []DossierPeriod `json:"tenths"`
	// FirstHour, LastHour and LastTenPercent are parts of the voting time.
	FirstHour      DossierPeriod `json:"firstHour"`
	LastHour       DossierPeriod `json:"lastHour"`
	LastTenPercent DossierPeriod `json:"lastTenPercent"`
	// LeaderChanges is how often a ballot made another choice lead. It, LateSwingPower and LateLeaderChange are null
	// where scores are no sums of ballots: of rankings, quadratic votes and Copeland.
	LeaderChanges *int `json:"leaderChanges"`
	// Recasts is the number of casts that a later one of the same voter replaced; SideChanges the
	// number of voters whose replaced casts chose otherwise.
	Recasts     Decimal `json:"recasts"`
	SideChanges Decimal `json:"sideChanges"`
	// LateSwingPower is the lead of the final leader over the final runner-up at the end less that
	// when the last tenth began; negative if it shrank. Null in a tie.
	LateSwingPower *SignedDecimal `json:"lateSwingPower"`
	// LateLeaderChange says that another choice led when the last tenth began.
	LateLeaderChange *bool `json:"lateLeaderChange"`
}

// DossierPeriod is a part of the voting time.
type DossierPeriod struct {
	// Ballots is the number of ballots that count, VotingPower their power.
	Ballots     Decimal `json:"ballots"`
	VotingPower Decimal `json:"votingPower"`
}

// DossierVoters are who decided.
type DossierVoters struct {
	// Strongest are the ten voters with the most power over the DAO's proposals that ended in the
	// year before the end of this one, or before now.
	Strongest []DossierStrongVoter `json:"strongest"`
	// Largest are the ten largest ballots.
	Largest []DossierBallot `json:"largest"`
}

// DossierStrongVoter is one of a DAO's strongest voters.
type DossierStrongVoter struct {
	// VoterIdentity is the voter, YearPower the power over the year's proposals.
	VoterIdentity string  `json:"voterIdentity"`
	YearPower     Decimal `json:"yearPower"`
	// Ballot is how the voter voted here; null for none, which may be missing: see unknowns.
	Ballot *DossierBallot `json:"ballot"`
}

// DossierProposer is what is known of an author.
type DossierProposer struct {
	// ProposerID is the author.
	ProposerID string `json:"proposerId"`
	// Here and Elsewhere count the earlier proposals in this DAO and in others, by outcome: what upstream dates after the end of
	// this vote does not count.
	Here      map[Outcome]int `json:"here"`
	Elsewhere map[Outcome]int `json:"elsewhere"`
	// FirstSeenAt is when the first proposal was created; this one included.
	FirstSeenAt *Timestamp `json:"firstSeenAt"`
	// VotesCast is on how many proposals of the DAO that ended before this one was created the author has a ballot; null
	// where ballots on these may be missing.
	VotesCast *Decimal `json:"votesCast"`
	// OwnBallot is the author's ballot here; null for none, which may be missing: see unknowns.
	OwnBallot *DossierBallot `json:"ownBallot"`
	// OpenHere is the number of the author's other proposals in this DAO with overlapping voting times.
	OpenHere int `json:"openHere"`
}

// DossierProcess is how a proposal came about.
type DossierProcess struct {
	// Topics are the linked discussions that were opened before the end of this vote.
	Topics []DossierTopic `json:"topics"`
	// DiscussionDays is the number of whole days between the first topic and the start of the vote, VotingHours the
	// voting time. Medians are over the DAO's last ended proposals, at most 50; null if none is known.
	DiscussionDays       *SignedDecimal `json:"discussionDays"`
	MedianDiscussionDays *SignedDecimal `json:"medianDiscussionDays"`
	VotingHours          *Decimal       `json:"votingHours"`
	MedianVotingHours    *Decimal       `json:"medianVotingHours"`
	// UpdatedAfterStart says that upstream states a change after the start of the vote; null where unknown.
	UpdatedAfterStart *bool `json:"updatedAfterStart"`
	// ActionsChangedAt is when the calls were last replaced; null if they were not, or only a chain would say.
	ActionsChangedAt *Timestamp `json:"actionsChangedAt"`
	// Extended says that the end of voting was put off.
	Extended bool `json:"extended"`
	// QueuedAt and ExecutedAt are when it was queued and executed; null where it was not, or unknown.
	QueuedAt   *Timestamp `json:"queuedAt"`
	ExecutedAt *Timestamp `json:"executedAt"`
	// ExecutableAt is the earliest, ExpiresAt the latest time of an execution that the timelock allows; null where unknown.
	ExecutableAt *Timestamp `json:"executableAt"`
	ExpiresAt    *Timestamp `json:"expiresAt"`
	// Similar are earlier proposals of the DAO with the same actions or nearly the same title.
	Similar []DossierSimilar `json:"similar"`
}

// DossierTopic is a linked discussion.
type DossierTopic struct {
	// Host is the forum, ExternalID the topic's number there, Title its title.
	Host       string `json:"host"`
	ExternalID string `json:"externalId"`
	Title      string `json:"title"`
	// CreatedAt is when it was opened; Replies and Participants count.
	CreatedAt    *Timestamp `json:"createdAt"`
	Replies      Decimal    `json:"replies"`
	Participants *Decimal   `json:"participants"`
	// ByProposer says that the author of the topic is the proposer.
	ByProposer bool `json:"byProposer"`
}

// DossierSimilar is an earlier proposal like this one.
type DossierSimilar struct {
	// ProposalKey is its key, Outcome its result without what upstream dates after the end of this vote, EndAt the end of its vote.
	ProposalKey ProposalKey `json:"proposalKey"`
	Outcome     Outcome     `json:"outcome"`
	EndAt       *Timestamp  `json:"endAt"`
	// SameActions and SimilarTitle say what is alike.
	SameActions  bool `json:"sameActions"`
	SimilarTitle bool `json:"similarTitle"`
}

// DossierAction is a call, with the calls inside.
type DossierAction struct {
	// Index is the place among the actions, or among the calls inside another.
	Index int `json:"index"`
	// Chain is where it runs; null if unknown.
	Chain *string `json:"chain"`
	// Target is what is called.
	Target DossierAddress `json:"target"`
	// Operation is call, delegatecall, or undetermined where contracts differ in what the function does.
	Operation string `json:"operation"`
	// Kind says what the function is for.
	Kind string `json:"kind"`
	// Function is the signature; null for a plain payment and for what is not decoded.
	Function *string `json:"function"`
	// Selector begins the calldata; null for a stated signature or no data.
	Selector *string `json:"selector"`
	// Alternatives are other known functions that fit as well.
	Alternatives []string `json:"alternatives"`
	// Arguments are the decoded arguments.
	Arguments []DossierArgument `json:"arguments"`
	// Value is the native amount in wei.
	Value Decimal `json:"value"`
	// Transfer is the money that moves; null for none.
	Transfer *DossierTransfer `json:"transfer"`
	// InText says what the text of the proposal or of a linked topic states; null where no money moves.
	InText *DossierInText `json:"inText"`
	// Undecoded says why the call, or what is inside, is not decoded; null if it is.
	Undecoded *string `json:"undecoded"`
	// Calls are the calls inside, Omitted the number of those left out.
	Calls   []DossierAction `json:"calls"`
	Omitted int             `json:"omitted"`
}

// DossierAddress is an address and what is known of it.
type DossierAddress struct {
	// Address is in lower case, Name is what the DAO, the table of tokens or the token itself calls it, or Governor, Timelock or Voting token.
	Address string  `json:"address"`
	Name    *string `json:"name"`
	// Contract says whether it has code, Proxy whether it is a proxy by EIP-1967; null where unknown.
	Contract *bool `json:"contract"`
	Proxy    *bool `json:"proxy"`
}

// DossierParty is an address that the actions involve.
type DossierParty struct {
	// Chain is where; null if unknown.
	Chain *string `json:"chain"`

	DossierAddress
	// Implementation is the code that a proxy runs; null for none. Block is the block as of which a node said so; null
	// if none was asked.
	Implementation *string  `json:"implementation"`
	Block          *Decimal `json:"block"`
	// PaidBy is the DAO's last executed proposal that paid it; null for none.
	PaidBy *ProposalKey `json:"paidBy"`
	// Proposals is the number of its own proposals in the DAO before this one, Ballots the number of the votes
	// with a ballot of its own that ended before this one was proposed.
	Proposals Decimal `json:"proposals"`
	Ballots   Decimal `json:"ballots"`
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
	// Method is eth_simulateV1 for the calls in order in one block, or eth_call for each alone; null if the node has neither.
	Method *string `json:"method"`
	// Executor is the address in whose name it is: the timelock, or the Governor.
	Executor string `json:"executor"`
	// Block is the block whose state it began with, At its time.
	Block Decimal   `json:"block"`
	At    Timestamp `json:"at"`
	// Result is success, revert, unknown or unavailable, Reason says why it is no success. A later call that fails
	// alone may only lack an earlier one: that is unknown.
	Result string  `json:"result"`
	Reason *string `json:"reason"`
	// Calls are in the order of the actions; Omitted is the number of those beyond 50.
	Calls   []DossierSimulatedCall `json:"calls"`
	Omitted int                    `json:"omitted"`
	// Transfers are the movements of tokens and native money that eth_simulateV1 shows, at most 100.
	Transfers []DossierMovement `json:"transfers"`
}

// DossierSimulatedCall is what came of a call.
type DossierSimulatedCall struct {
	// Success is false for a call that failed, of which Reason says why.
	Success bool    `json:"success"`
	Reason  *string `json:"reason"`
	// GasUsed is the gas; null for eth_call.
	GasUsed *Decimal `json:"gasUsed"`
}

// DossierMovement is a transfer that a simulation shows.
type DossierMovement struct {
	// Token is the token; null for the native one. Units are the smallest ones.
	Token *string `json:"token"`
	From  string  `json:"from"`
	To    string  `json:"to"`
	Units Decimal `json:"units"`
}

// DossierArgument is a decoded argument.
type DossierArgument struct {
	// Name is the parameter's name; null where unknown. Type is its type.
	Name *string `json:"name"`
	Type string  `json:"type"`
	// Value is the value as text, of which 1,024 characters are shown; null for arrays and tuples, whose Items are the parts.
	Value *string `json:"value"`
	// AddressName is what an address is called; null where unknown.
	AddressName *string           `json:"addressName"`
	Items       []DossierArgument `json:"items"`
	// Unlimited says that an amount is the largest number of its type.
	Unlimited bool `json:"unlimited"`
}

// DossierTransfer is money that a call moves.
type DossierTransfer struct {
	// Token is the token; null for the native one, "unstated" where the call does not name it. Symbol and Decimals are
	// null where unknown.
	Token    *string `json:"token"`
	Symbol   *string `json:"symbol"`
	Decimals *int    `json:"decimals"`
	// Amount is in units of the token where its decimals are known, else as the call states it;
	// null for all there is. From is null for the executor.
	Amount *Decimal `json:"amount"`
	From   *string  `json:"from"`
	To     string   `json:"to"`
}

// DossierInText says what the text states of a payment; null where that cannot be told.
type DossierInText struct {
	// Target, Recipient and Amount say whether each is stated.
	Target    *bool `json:"target"`
	Recipient *bool `json:"recipient"`
	Amount    *bool `json:"amount"`
}

// DossierEffects sums up actions.
type DossierEffects struct {
	// Transfers are by chain, token and recipient.
	Transfers []DossierSum `json:"transfers"`
	// Permissions are what is granted and taken.
	Permissions []DossierPermission `json:"permissions"`
	// Settings are what is changed.
	Settings []DossierSetting `json:"settings"`
}

// DossierSum is what leaves to one recipient.
type DossierSum struct {
	// Chain is where; null if unknown.
	Chain *string `json:"chain"`

	DossierTransfer
}

// DossierPermission is power that an action grants or takes.
type DossierPermission struct {
	// Action is the JSON pointer of the call.
	Action string `json:"action"`
	// Change is granted or taken.
	Change string `json:"change"`
	// Kind is the kind of the call, On the called contract, What the role or function, To whom it is given or taken.
	Kind string  `json:"kind"`
	On   string  `json:"on"`
	What string  `json:"what"`
	To   *string `json:"to"`
}

// DossierSetting is a setting that an action changes.
type DossierSetting struct {
	// Action is the JSON pointer of the call.
	Action string `json:"action"`
	// On is the called contract, Function what is called, New the new value. Old is the value that the contract stated last
	// before the execution, else the one that the DAO's last executed proposal set before; null if neither is known.
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
	// Rule is the name of the rule, RuleVersion its version.
	Rule        string `json:"rule"`
	RuleVersion int    `json:"ruleVersion"`
	// Severity says how much it matters.
	Severity Severity `json:"severity"`
	Sentence string   `json:"sentence"`
	// Facts are JSON pointers into the dossier, Refs ids of source references.
	Facts []string `json:"facts"`
	Refs  []string `json:"refs"`
}

// DossierUnknown is something that could not be computed.
type DossierUnknown struct {
	// Category is missing_data, undecoded_payload, identity, state or intent.
	Category string `json:"category"`
	// What is not known, Why it matters, and Where a person can look.
	What  string `json:"what"`
	Why   string `json:"why"`
	Where string `json:"where"`
}

// DossierSource is a record that a dossier rests on.
type DossierSource struct {
	// ID is the id that findings name.
	ID string `json:"id"`
	// Kind is proposal, ballot, topic, transaction, block, contract or route.
	Kind string `json:"kind"`
	// Address is where it is: an address of a page, or the path of a route.
	Address string `json:"address"`
	// ObservedAt is when it was read; null where unknown.
	ObservedAt *Timestamp `json:"observedAt"`
	// SHA256 is the hash of the record as it is stored, in hexadecimal: another one says that the record has changed, and no answer
	// has the bytes. Null for a route.
	SHA256 *string `json:"sha256"`
}
