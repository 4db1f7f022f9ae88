SELECT
    voter,
    vote_id,
    choice_key,
    raw_choice,
    power,
    ifNull(latest_ballots.voted_at, toDateTime64('1900-01-01 00:00:00', 3, 'UTC')) AS voted_at,
    tx_hash
FROM latest_ballots
WHERE proposal_ref = unhex({ref:String})
