-- Reads the prefix of the sorting key alone. A ballot with two stored versions may count
-- twice, and a withdrawn one counts.
SELECT
    proposal_ref,
    count() AS casts
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
GROUP BY proposal_ref
ORDER BY proposal_ref
