-- One thread: no caller waits for this statement.
INSERT INTO sorted_ballots (generation, voter, vote_id, choice_key, raw_choice, power, voted_at, tx_hash, shown_reason)
SELECT
    {generation:UInt64},
    voter,
    vote_id,
    choice_key,
    raw_choice,
    power,
    ifNull(voted_at, {no_time:DateTime64(3, 'UTC')}),
    tx_hash,
    %s
FROM latest_ballots
WHERE proposal_ref = unhex({ref:String})
SETTINGS max_threads = 1
