-- The ballots that count of the voters in wanted_voters.
SELECT
    cast.voter AS voter,
    cast.proposal_ref AS proposal_ref,
    cast.vote_id AS vote_id,
    state.proposal_key AS proposal_key,
    state.dao_id AS dao_id,
    cast.choice_key AS choice_key,
    cast.power AS power,
    cast.voted_at AS voted_at,
    cast.tx_hash AS tx_hash
FROM
(
    -- FINAL would not use the projection. The inner query selects the latest version of
    -- each ballot, the outer one the ballot that counts, by the rule of latest_ballots. The
    -- projection does not say what is withdrawn: an index finds these few rows.
    SELECT
        voter,
        proposal_ref,
        vote_id,
        choice_key,
        power,
        voted_at,
        tx_hash
    FROM
    (
        SELECT
            voter,
            proposal_ref,
            vote_id,
            choice_key,
            power,
            voted_at,
            tx_hash,
            version
        FROM ballots
        WHERE voter IN (SELECT voter FROM wanted_voters)
        ORDER BY
            voter,
            proposal_ref,
            vote_id,
            version DESC
        LIMIT 1 BY
            voter,
            proposal_ref,
            vote_id
    )
    WHERE (voter, proposal_ref, vote_id, version) GLOBAL NOT IN
    (
        SELECT
            voter,
            proposal_ref,
            vote_id,
            version
        FROM ballots
        WHERE withdrawn = true
            AND voter IN (SELECT voter FROM wanted_voters)
    )
    ORDER BY
        voter,
        proposal_ref,
        voted_at IS NULL,
        voted_at DESC,
        vote_id DESC
    LIMIT 1 BY
        voter,
        proposal_ref
) AS cast
GLOBAL INNER JOIN
(
    SELECT
        proposal_ref,
        proposal_key,
        dao_id
    FROM proposal_states FINAL
    WHERE proposal_ref GLOBAL IN (SELECT proposal_ref FROM ballots WHERE voter IN (SELECT voter FROM wanted_voters))
        AND dao_id != ''
) AS state ON cast.proposal_ref = state.proposal_ref
