-- The power that counts towards a quorum is governance.QuorumPower, by the choices of
-- record.Proposal.CountedChoices, and progress is cut as QuorumProgress cuts it.
CREATE OR REPLACE VIEW $views.vote_summaries
(
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    provider LowCardinality(String) COMMENT 'snapshot; or governor or tally for on-chain votes, as read from the chain or from Tally.',
    title Nullable(String) COMMENT 'Title of the proposal.',
    lifecycle_status LowCardinality(String) COMMENT 'pending, active or closed.',
    outcome LowCardinality(String) COMMENT 'passed, failed, executed, canceled or unknown.',
    created_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the proposal was created, or else when voting starts.',
    start_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When voting starts.',
    end_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When voting ends.',
    last_voted_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Latest known time of a ballot that counts.',
    ready Bool COMMENT 'Whether there are numbers: without any, they are NULL and the lists are empty, as in the API.',
    basis Nullable(String) COMMENT 'What the numbers are: upstream for what upstream states of the vote as a whole, ballots for the sums of the ballots that count.',
    votes Nullable(UInt64) COMMENT 'Votes; NULL if upstream does not state it.',
    unique_voters Nullable(UInt64) COMMENT 'Voters; each has one vote that counts.',
    voting_power Nullable(Decimal(76, 18)) COMMENT 'Voting power of all votes, exact.',
    held_votes UInt64 COMMENT 'Ballots that are held and count.',
    held_voting_power Decimal(76, 18) COMMENT 'Voting power of these ballots, exact.',
    quorum_raw Nullable(String) COMMENT 'The quorum as published, in the unit of the provider; NULL or 0: none.',
    quorum_type Nullable(String) COMMENT 'approval, or rejection for one that the second choice has to exceed so that the proposal is rejected.',
    quorum Nullable(Decimal(76, 18)) COMMENT 'The quorum in the unit of voting_power.',
    quorum_voting_power Nullable(Decimal(76, 18)) COMMENT 'Voting power that counts towards the quorum: all of it on Snapshot; that of the second choice for a quorum of rejection; on a Governor that of the choices that it counts, for and abstain or for alone.',
    quorum_progress Nullable(Decimal(76, 6)) COMMENT 'quorum_voting_power / quorum, cut at six places; 1 is enough.',
    quorum_reached Nullable(Bool) COMMENT 'Whether the quorum is reached; NULL if ballots that are missing may reach it.',
    choice_keys Array(String) COMMENT 'Keys of the choices, in order.',
    choice_labels Array(String) COMMENT 'Texts of the choices, in the same order.',
    choice_votes Array(UInt64) COMMENT 'Votes that support each choice, in the same order; empty if upstream does not state them.',
    choice_voting_powers Array(Decimal(76, 18)) COMMENT 'Score of each choice under the vote type, exact, in the same order.',
    coverage_status LowCardinality(String) COMMENT 'How many of the ballots at the provider are stored: complete, partial, backfilling or unavailable.',
    flagged Bool COMMENT 'Whether the provider marks the proposal as spam: daos, dao_participation, dao_timelines, dao_voters, voter_daos and voters leave it out.'
)
DEFINER = CURRENT_USER SQL SECURITY DEFINER
COMMENT 'Results of the votes, one row a proposal. As /v2/proposals/:proposalKey/votes/summary.'
AS
WITH multiIf(
    record.quorum_type = 'rejection', ['2'],
    empty(record.quorum_choices) AND state.provider IN ('tally', 'governor'), ['for', 'abstain'],
    arrayMap(choice -> toString(choice), record.quorum_choices)
) AS counted_keys,
if(
    empty(counted_keys),
    state.total_power,
    arraySum(arrayFilter((power, key) -> has(counted_keys, key), state.choice_powers, state.choice_keys))
) AS counted
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    state.provider AS provider,
    nullIf(if(empty(state.derived_title), record.title, state.derived_title), '') AS title,
    state.lifecycle AS lifecycle_status,
    state.outcome AS outcome,
    state.created_at AS created_at,
    state.start_at AS start_at,
    state.end_at AS end_at,
    state.last_voted_at AS last_voted_at,
    state.vote_ready AS ready,
    nullIf(toString(state.basis), '') AS basis,
    state.total_votes AS votes,
    votes AS unique_voters,
    if(ready, state.total_power, NULL) AS voting_power,
    state.votes AS held_votes,
    state.power AS held_voting_power,
    if(
        ready AND record.quorum > 0 AND (empty(counted_keys) OR state.choices_scored OR empty(state.choice_keys)),
        record.quorum,
        NULL
    ) AS quorum,
    if(quorum IS NULL, NULL, if(record.quorum_type = 'rejection', 'rejection', 'approval')) AS quorum_type,
    if(quorum IS NULL, NULL, record.quorum_raw) AS quorum_raw,
    if(quorum IS NULL, NULL, counted) AS quorum_voting_power,
    multiIf(
        quorum IS NULL, NULL,
        divideDecimal(counted, if(ifNull(quorum, 0) = 0, toDecimal256(1, 18), assumeNotNull(quorum)), 6)
    ) AS quorum_progress,
    multiIf(
        quorum IS NULL, NULL,
        if(quorum_type = 'rejection', counted > assumeNotNull(quorum), counted >= assumeNotNull(quorum)), true,
        state.basis = 'upstream' OR state.coverage = 'complete', false,
        NULL
    ) AS quorum_reached,
    if(ready AND state.choices_scored, state.choice_keys, []) AS choice_keys,
    if(ready AND state.choices_scored, state.choice_labels, []) AS choice_labels,
    if(ready AND state.choices_counted, state.choice_votes, []) AS choice_votes,
    if(ready AND state.choices_scored, state.choice_powers, []) AS choice_voting_powers,
    state.coverage AS coverage_status,
    state.flagged AS flagged
FROM
(
    SELECT
        proposal_ref,
        title,
        quorum_raw,
        quorum,
        quorum_choices,
        quorum_type
    FROM $data.proposals
    WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
    ORDER BY
        proposal_ref,
        version DESC
    LIMIT 1 BY proposal_ref
) AS record
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id,
        provider,
        lifecycle,
        outcome,
        coverage,
        vote_ready,
        votes,
        power,
        basis,
        total_votes,
        total_power,
        choice_keys,
        choice_labels,
        choice_votes,
        choice_powers,
        choices_scored,
        choices_counted,
        created_at,
        start_at,
        end_at,
        last_voted_at,
        flagged,
        derived_title
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
) AS state ON record.proposal_ref = state.proposal_ref;
