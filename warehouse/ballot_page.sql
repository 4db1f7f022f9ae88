SELECT
    voter,
    vote_id,
    choice_key,
    raw_choice,
    power,
    voted_at,
    tx_hash
FROM %s
WHERE %s
ORDER BY
    %s DESC,
    voter DESC
LIMIT {limit:UInt64}
