-- One row a voter first: a voter counts once.
SELECT
    proposal_ref,
    count() AS votes,
    groupBitXor(casts) AS hash
FROM
(
    SELECT
        proposal_ref,
        voter,
        groupBitXor(sipHash64(voter, vote_id, version)) AS casts
    FROM ballots FINAL
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
        AND NOT withdrawn
    GROUP BY
        proposal_ref,
        voter
)
GROUP BY proposal_ref
SETTINGS optimize_aggregation_in_order = 1
