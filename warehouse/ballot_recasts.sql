-- Counts the ballots that were not withdrawn, in their latest versions. Only few proposals
-- are looked up, see markRecasts.
SELECT DISTINCT proposal_ref
FROM
(
    SELECT proposal_ref
    FROM ballots FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        AND NOT withdrawn
    GROUP BY
        proposal_ref,
        voter
    HAVING count() > 1
)
ORDER BY proposal_ref
SETTINGS optimize_aggregation_in_order = 1
