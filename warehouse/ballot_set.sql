-- Pages of several proposals with few ballots. The inner queries are those of
-- ballot_first_of_voters, for all voters. A proposal without a row has no ballots or too
-- many of them.
SELECT
    page,
    vote_id,
    voter AS voter_identity,
    if(startsWith(voter, '0x'), voter, '') AS voter_address,
    choice_key,
    raw_choice,
    power AS voting_power,
    voted_at,
    tx_hash AS transaction_hash
FROM
(
    SELECT
        proposal_ref,
        voter,
        vote_id,
        choice_key,
        raw_choice,
        power,
        ifNull(dated, {no_time:DateTime64(3, 'UTC')}) AS voted_at,
        tx_hash
    FROM
    (
        SELECT
            proposal_ref,
            voter,
            vote_id,
            choice_key,
            raw_choice,
            power,
            voted_at AS dated,
            tx_hash,
            withdrawn
        FROM ballots
        WHERE proposal_ref GLOBAL IN
            (
                SELECT proposal_ref
                FROM ballots
                WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_pages)
                GROUP BY proposal_ref
                HAVING count() <= {most:UInt64}
            )
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
    WHERE NOT withdrawn
    ORDER BY
        proposal_ref,
        voter,
        dated IS NULL,
        dated DESC,
        vote_id DESC
    LIMIT 1 BY
        proposal_ref,
        voter
) AS ballot
INNER JOIN wanted_pages AS wanted ON ballot.proposal_ref = wanted.proposal_ref
WHERE first
    OR %[1]s < %[2]s
    OR %[1]s = %[2]s
        AND voter < after_voter
ORDER BY
    page,
    %[1]s DESC,
    voter DESC
LIMIT {limit:UInt64} BY page
