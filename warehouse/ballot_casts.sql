-- Reads nothing but the front of the key. A cast that was imported in two versions
-- may count twice.
SELECT
    proposal_ref,
    count() AS casts
FROM ballots
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
GROUP BY proposal_ref
ORDER BY proposal_ref
