SELECT
    dao_id,
    count() AS votes,
    sum(power) AS total_power,
    min(voted_at) AS first_vote_at,
    max(voted_at) AS last_vote_at
FROM (%s)
GROUP BY dao_id
ORDER BY dao_id
