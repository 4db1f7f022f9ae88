SELECT
    rank,
    voter AS voter_identity,
    if(startsWith(voter, '0x'), voter, '') AS voter_address,
    -descending AS total_voting_power,
    votes AS vote_count,
    votes AS proposal_count
FROM %s
WHERE %s
ORDER BY
    descending,
    voter
LIMIT {limit:UInt64}
