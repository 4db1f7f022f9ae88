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
-- Those who vote twice may leave a way of voting to nobody.
HAVING votes > 0
ORDER BY
    proposal_ref,
    choices
