SELECT
    proposal_ref,
    choices,
    count() AS votes,
    sum(power) AS total_power
FROM
(
    SELECT
        proposal_ref,
        arrayMap(choice -> toString(choice), choices) AS choices,
        power
    FROM latest_ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
)
GROUP BY
    proposal_ref,
    choices
ORDER BY
    proposal_ref,
    choices
