-- Voting more than once does not depend on versions, so nothing is merged.
SELECT DISTINCT proposal_ref
FROM
(
    SELECT proposal_ref
    FROM ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY
        proposal_ref,
        voter
    HAVING min(vote_id) != max(vote_id)
)
ORDER BY proposal_ref
SETTINGS optimize_aggregation_in_order = 1
