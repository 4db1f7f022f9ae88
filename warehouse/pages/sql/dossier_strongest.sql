-- The ten strongest of some voters over each list of proposals.
SELECT
    list,
    voter,
    sum(ballot.power) AS power
FROM
(
%s
) AS ballot
INNER JOIN wanted_lists ON ballot.proposal_ref = wanted_lists.proposal_ref
GROUP BY
    list,
    voter
HAVING power > 0
ORDER BY
    list,
    power DESC,
    voter
LIMIT 10 BY list
SETTINGS max_threads = 1
