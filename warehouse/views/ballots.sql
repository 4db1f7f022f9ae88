-- Without FINAL, so that a condition on the voter reads a projection by voter: the inner
-- query selects the latest committed version of each cast, the outer one the cast that
-- counts, by the rule of latest_ballots. The projection does not say what is withdrawn: an
-- index finds these few rows. Conditions on the voter are pushed below both, and
-- those on the proposal or its DAO reach the primary key as the runtime filter of the join.
-- They would not with the rights of a definer: what is made of ballots has its caller's.
CREATE OR REPLACE VIEW $views.ballots
(
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    provider LowCardinality(String) COMMENT 'snapshot; or governor or tally for on-chain votes, as read from the chain or from Tally.',
    vote_id String COMMENT 'Id of the ballot at the provider.',
    voter_identity String COMMENT 'The voter; an address is in lower case.',
    voter_address Nullable(String) COMMENT 'The voter, where it is an address.',
    choice_key Nullable(String) COMMENT 'Key of the choice: for, against or abstain on a Governor, the position from 1 on Snapshot. Of the first preference or largest weight where the ballot has several choices. NULL for a ballot that supports none.',
    choice_label Nullable(String) COMMENT 'Text of that choice.',
    choice_keys Array(String) COMMENT 'Keys of the choices that the ballot supports.',
    choice_voting_powers Array(Decimal(76, 18)) COMMENT 'Voting power that each of these choices gets, exact, in the same order: the share of a ballot with weights, all of it otherwise.',
    invalid Bool COMMENT 'Whether the ballot names choices that do not exist, one twice, or not as many as it has to: it supports none.',
    verdict Nullable(String) COMMENT 'What the ballot means for the outcome: for, against or abstain, by the text of its choice, or by its position in a basic vote; NULL if it means none of these, names several choices or is invalid.',
    voting_power Decimal(76, 18) COMMENT 'Voting power, exact.',
    voted_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was cast; NULL if the provider does not say.',
    transaction_hash Nullable(String) COMMENT 'The voting transaction; NULL off chain.',
    reason Nullable(String) COMMENT 'What the voter gave as the reason.',
    flagged Bool COMMENT 'Whether the provider marks the proposal as spam: daos, dao_participation, dao_timelines, dao_voters, voter_daos and voters leave it out.'
)
SQL SECURITY INVOKER
COMMENT 'The ballots that count: one a voter and proposal, the latest. As /v2/proposals/:proposalKey/votes and /v2/voters/:voterIdentity/votes.'
AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    state.provider AS provider,
    ballot.vote_id AS vote_id,
    ballot.voter AS voter_identity,
    if(startsWith(ballot.voter, '0x'), ballot.voter, NULL) AS voter_address,
    if(invalid, NULL, nullIf(toString(ballot.choice_key), '')) AS choice_key,
    if(invalid, NULL, nullIf(state.choice_labels[indexOf(state.choice_keys, toString(ballot.choice_key))], '')) AS choice_label,
    if(invalid, [], arrayMap(choice -> toString(choice), ballot.choices)) AS choice_keys,
    if(invalid, [], if(empty(ballot.shares), arrayMap(choice -> ballot.power, ballot.choices), ballot.shares)) AS choice_voting_powers,
    notEmpty(state.choice_keys) AND NOT match(ballot.raw_choice, '^("|$)') AND (
        NOT hasAll(
            state.choice_keys,
            multiIf(
                startsWith(ballot.raw_choice, '['), JSONExtractArrayRaw(ballot.raw_choice),
                startsWith(ballot.raw_choice, '{'), arrayFilter(
                    key -> NOT match(JSONExtractRaw(ballot.raw_choice, key), '^"?-?0*\\.?0*([eE].*)?"?$'), JSONExtractKeys(ballot.raw_choice)
                ),
                [ballot.raw_choice]
            ) AS named
        )
        OR startsWith(ballot.raw_choice, '{') AND empty(ballot.choices)
        OR length(arrayDistinct(named)) != length(named)
        OR length(named) < state.least_choices OR state.most_choices > 0 AND length(named) > state.most_choices
        OR state.choice_form != '' AND state.choice_form != multiIf(startsWith(ballot.raw_choice, '['), 'list', startsWith(ballot.raw_choice, '{'), 'weights', 'number')
    ) AS invalid,
    if(
        invalid OR length(ballot.choices) != 1,
        NULL,
        nullIf(toString(state.choice_verdicts[indexOf(state.choice_keys, toString(ballot.choice_key))]), '')
    ) AS verdict,
    ballot.power AS voting_power,
    ballot.voted_at AS voted_at,
    nullIf(ballot.tx_hash, '') AS transaction_hash,
    nullIf(ballot.reason, '') AS reason,
    state.flagged AS flagged
FROM
(
    SELECT
        proposal_ref,
        voter,
        vote_id,
        choice_key,
        choices,
        shares,
        raw_choice,
        power,
        voted_at,
        tx_hash,
        reason
    FROM
    (
        SELECT
            proposal_ref,
            voter,
            vote_id,
            choice_key,
            choices,
            shares,
            raw_choice,
            power,
            voted_at,
            tx_hash,
            reason,
            version
        FROM $data.ballots
        WHERE version < (SELECT ifNull(minOrNull(first_version), toUInt64(-1)) FROM $data.batches FINAL WHERE sealed = 0)
        ORDER BY
            proposal_ref,
            voter,
            vote_id,
            version DESC
        LIMIT 1 BY
            proposal_ref,
            voter,
            vote_id
    )
    WHERE (proposal_ref, voter, vote_id, version) GLOBAL NOT IN
    (
        SELECT
            proposal_ref,
            voter,
            vote_id,
            version
        FROM $data.ballots
        WHERE withdrawn = true
    )
    ORDER BY
        proposal_ref,
        voter,
        voted_at IS NULL,
        voted_at DESC,
        vote_id DESC
    LIMIT 1 BY
        proposal_ref,
        voter
) AS ballot
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id,
        provider,
        choice_keys,
        choice_labels,
        choice_verdicts,
        least_choices,
        most_choices,
        choice_form,
        flagged
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
) AS state ON ballot.proposal_ref = state.proposal_ref;
