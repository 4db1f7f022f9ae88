-- The ballots of the voters in wanted_voters that count, up to a number for each.
SELECT
    voter,
    proposal_ref,
    choice_key,
    raw_choice,
    power,
    voted_at,
    tx_hash AS transaction_hash
FROM (%s)
LIMIT {most:UInt64} BY voter
SETTINGS max_threads = 1
