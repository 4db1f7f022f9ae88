-- The twentieth of the largest ballots on each proposal with so many: ten are of different voters if few were superseded.
SELECT
    proposal_ref,
    -groupArraySorted(20)(-power)[20] AS power
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
GROUP BY proposal_ref
HAVING count() >= 20
SETTINGS max_threads = 1
