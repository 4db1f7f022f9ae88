SELECT
    proposal_ref,
    choices,
    sum(ballot.votes) AS votes,
    sum(ballot.power) AS power,
    sum(ballot.single) AS single
FROM
(
%s
) AS ballot
GROUP BY
    proposal_ref,
    choices
-- The earlier ballot of a repeated voter may leave a ranking without votes.
HAVING votes > 0
ORDER BY
    proposal_ref,
    choices
