-- Most voters have one row: one ballot in one version. The hashes of the others say which
-- rows have to be compared; two voters with the same hash are compared too, which only
-- takes time. Reads the prefix of the sorting key alone. 12 bits of the hash identify the
-- proposal: grouping by one number costs two thirds of grouping by both columns.
SELECT
    bitAnd(hash, 4095) AS bucket,
    countIf(stored = 1) AS single,
    groupArrayIf(hash, stored > 1) AS repeated
FROM
(
    SELECT
        %s AS hash,
        count() AS stored
    FROM ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY hash
)
GROUP BY bucket
ORDER BY bucket
