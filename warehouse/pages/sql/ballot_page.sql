SELECT
    %s AS reason,
    vote_id,
    voter AS voter_identity,
    if(startsWith(voter, '0x'), voter, '') AS voter_address,
    choice_key,
    raw_choice,
    power AS voting_power,
    voted_at,
    tx_hash AS transaction_hash
FROM %s
WHERE %s
ORDER BY
    %s DESC,
    voter DESC
LIMIT {limit:UInt64}
