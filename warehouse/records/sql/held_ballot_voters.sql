-- In order of the table: a poll of a million voters needs no hash table.
SELECT
    proposal_ref,
    count() AS voters
FROM
(
    SELECT proposal_ref
    FROM ballots FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals) AND NOT withdrawn
    GROUP BY
        proposal_ref,
        voter
)
GROUP BY proposal_ref
ORDER BY proposal_ref
SETTINGS optimize_aggregation_in_order = 1
