-- Most voters have one row: one ballot in one version. The hashes of the others say which
-- rows have to be compared, and so do those of voters with a withdrawn row, which an index
-- finds; two voters with the same hash are compared too, which only takes time. Reads the
-- prefix of the sorting key alone. 12 bits of the hash identify the proposal: grouping by
-- one number costs two thirds of grouping by both columns.
WITH gone AS
(
    SELECT %[1]s AS hash
    FROM ballots
    WHERE withdrawn = true
        AND proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
)
SELECT
    bitAnd(hash, 4095) AS bucket,
    countIf(stored = 1 AND hash GLOBAL NOT IN (SELECT hash FROM gone)) AS single,
    groupArrayIf(hash, stored > 1 OR hash GLOBAL IN (SELECT hash FROM gone)) AS repeated
FROM
(
    SELECT
        %[1]s AS hash,
        count() AS stored
    FROM ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY hash
)
GROUP BY bucket
ORDER BY bucket
