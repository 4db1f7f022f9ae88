SELECT
    proposal_ref,
    choices,
    count() AS votes,
    sum(power) AS total_power,
    countIf(single) AS single_rows
FROM
(
%s
)
GROUP BY
    proposal_ref,
    choices
ORDER BY
    proposal_ref,
    choices
