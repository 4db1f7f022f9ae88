SELECT
    voter,
    sum(power) AS power
FROM
(
    SELECT
        voter,
        power
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
)
GROUP BY voter
HAVING power > 0
ORDER BY
    power DESC,
    voter
LIMIT 10
