-- The rows of ballot_page_all for some voters, from their rows alone: the rows of other
-- voters are not merged.
SELECT
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
        voter,
        vote_id,
        choice_key,
        raw_choice,
        power,
        voted_at AS dated,
        tx_hash,
        withdrawn
    FROM ballots
    WHERE proposal_ref = unhex({ref:String})
        AND voter IN (SELECT voter FROM first_voters)
    ORDER BY
        voter,
        vote_id,
        version DESC
    LIMIT 1 BY
        voter,
        vote_id
)
WHERE NOT withdrawn
ORDER BY
    voter,
    dated IS NULL,
    dated DESC,
    vote_id DESC
LIMIT 1 BY voter
