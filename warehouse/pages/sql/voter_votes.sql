-- The ballots of a voter that count.
SELECT
    proposal_ref,
    choice_key,
    raw_choice,
    power,
    voted_at,
    tx_hash AS transaction_hash
FROM (%s)
SETTINGS max_threads = 1
