CREATE OR REPLACE VIEW $views.superseded_ballots
(
    proposal_key String COMMENT 'The proposal.',
    dao_id String COMMENT 'The DAO.',
    vote_id String COMMENT 'Id of the ballot at the provider.',
    voter_identity String COMMENT 'The voter; an address is in lower case.',
    choice_key Nullable(String) COMMENT 'Key of the choice, of the first preference or largest weight where the ballot has several choices. NULL for a ballot without one.',
    voting_power Decimal(76, 18) COMMENT 'Voting power, exact.',
    voted_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was cast; NULL if the provider does not say.',
    transaction_hash Nullable(String) COMMENT 'The voting transaction; NULL off chain.'
)
SQL SECURITY INVOKER
COMMENT 'The ballots that a later one of the same voter replaced. No answer of the API and no other view shows or counts them.'
AS
SELECT
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    ballot.vote_id AS vote_id,
    ballot.voter AS voter_identity,
    nullIf(toString(ballot.choice_key), '') AS choice_key,
    ballot.power AS voting_power,
    ballot.voted_at AS voted_at,
    nullIf(ballot.tx_hash, '') AS transaction_hash
FROM
(
    SELECT
        proposal_ref,
        voter,
        vote_id,
        choice_key,
        power,
        voted_at,
        tx_hash,
        row_number() OVER (
            PARTITION BY proposal_ref, voter
            ORDER BY voted_at IS NULL, voted_at DESC, vote_id DESC
        ) AS place
    FROM
    (
        SELECT
            proposal_ref,
            voter,
            vote_id,
            choice_key,
            power,
            voted_at,
            tx_hash,
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
) AS ballot
INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id
    FROM $data.proposal_states FINAL
    WHERE dao_id != ''
) AS state ON ballot.proposal_ref = state.proposal_ref
WHERE ballot.place > 1;
