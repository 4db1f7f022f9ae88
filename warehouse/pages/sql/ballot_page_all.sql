SELECT
    voter,
    vote_id,
    choice_key,
    raw_choice,
    power,
    ifNull(latest_ballots.voted_at, {no_time:DateTime64(3, 'UTC')}) AS voted_at,
    tx_hash,
    reason
FROM latest_ballots
WHERE proposal_ref = unhex({ref:String})
