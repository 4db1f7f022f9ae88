SELECT sum(casts) AS waiting
FROM
(
    SELECT
        proposal_ref,
        count() AS casts
    FROM ballots FINAL
    WHERE proposal_ref GLOBAL NOT IN (SELECT proposal_ref FROM proposals)
    GROUP BY proposal_ref
)
