-- All ballots cast on several proposals, superseded and withdrawn ones too. Go merges and
-- sorts them: both orders share this read, and planning a statement that did it would cost
-- more than reading.
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
    tx_hash AS transaction_hash
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
LIMIT {most:UInt64} BY proposal_ref
SETTINGS max_threads = 1
