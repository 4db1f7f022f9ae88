SELECT
    vote_id,
    voter,
    power,
    power_rounded,
    choices,
    shares,
    roots,
    choice_key,
    raw_choice,
    voted_at,
    voted_day_only,
    tx_hash,
    reason
FROM ballots FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND NOT withdrawn
ORDER BY
    proposal_ref,
    voter,
    vote_id
