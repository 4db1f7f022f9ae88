SELECT
    rank,
    voter,
    descending,
    votes
FROM %s
WHERE %s
ORDER BY
    descending,
    voter
LIMIT {limit:UInt64}
