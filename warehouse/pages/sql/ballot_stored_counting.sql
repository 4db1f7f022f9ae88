-- The ballots that count among those that satisfy a condition, by the rule of
-- latest_ballots, read without FINAL: only the rows that satisfy it are merged, and a
-- projection may be read. The condition selects all casts of a voter on a proposal, or
-- none.
SELECT
    proposal_ref,
    voter,
    vote_id,
    choice_key,
    raw_choice,
    power,
    ifNull(dated, {no_time:DateTime64(3, 'UTC')}) AS voted_at,
    tx_hash,
    reason
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
        reason,
        withdrawn
    FROM ballots
    WHERE %[1]s
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
