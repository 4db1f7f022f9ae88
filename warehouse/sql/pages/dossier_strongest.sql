-- The ten strongest voters over each list of proposals.
SELECT
    list,
    voter,
    sum(ballot.power) AS power
FROM
(
    SELECT
        proposal_ref,
        voter,
        power
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM listed)
) AS ballot
INNER JOIN listed ON ballot.proposal_ref = listed.proposal_ref
GROUP BY
    list,
    voter
HAVING power > 0
ORDER BY
    list,
    power DESC,
    voter
LIMIT 10 BY list
