-- All stored ballots that satisfy a condition, superseded and withdrawn ones too, up to a
-- number for each value of a column. Go merges and sorts them: different orders share this
-- read, and planning a statement that did it would cost more than reading.
SELECT
    proposal_ref,
    voter AS voter_identity,
    vote_id,
    version,
    withdrawn,
    choice_key,
    raw_choice,
    power,
    voted_at,
    tx_hash AS transaction_hash,
    %[3]s AS reason
FROM ballots
WHERE %[1]s
LIMIT {most:UInt64} BY %[2]s
SETTINGS max_threads = 1
