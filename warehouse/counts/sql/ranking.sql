SELECT
    proposal_ref,
    choices,
    form,
    sum(ballot.votes) AS votes,
    sum(ballot.power) AS power,
    sumForEach(ballot.shares) AS shares,
    sumForEach(ballot.roots) AS roots,
    sum(ballot.single) AS single
FROM
(
%s
) AS ballot
GROUP BY
    proposal_ref,
    choices,
    form
-- The earlier ballot of a repeated voter may leave a ranking without votes.
HAVING votes > 0
ORDER BY
    proposal_ref,
    choices,
    form
