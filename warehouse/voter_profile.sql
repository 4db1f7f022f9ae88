SELECT
    voter,
    dao_id,
    if(startsWith(voter, '0x'), voter, '') AS voter_address,
    count() AS votes,
    votes AS vote_count,
    votes AS proposal_count,
    sum(ballot.power) AS power,
    power AS total_voting_power,
    min(voted_at) AS first_vote_at,
    max(voted_at) AS last_vote_at
FROM (%s) AS ballot
GROUP BY
    voter,
    dao_id
ORDER BY
    voter,
    dao_id
