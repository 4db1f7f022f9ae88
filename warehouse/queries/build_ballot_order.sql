-- On one thread: nobody waits for it.
INSERT INTO ordered_ballots (generation, voter, vote_id, choice_key, raw_choice, power, voted_at, tx_hash)
SELECT
    ?,
    voter,
    vote_id,
    choice_key,
    raw_choice,
    power,
    ifNull(voted_at, toDateTime64('1900-01-01 00:00:00', 3, 'UTC')),
    tx_hash
FROM latest_ballots
WHERE proposal_ref = ?
SETTINGS max_threads = 1
