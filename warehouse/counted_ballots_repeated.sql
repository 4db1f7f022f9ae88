-- Most voters have one row: one cast, in one version. The hashes of the others say
-- which rows have to be picked from; two voters that share one are among them, and
-- nothing is lost but time. Reads the front of the key alone. Proposals are told apart
-- by 12 bits in the hash: grouping by one number costs two thirds of grouping by both.
SELECT
    bitAnd(hash, 4095) AS kin,
    countIf(held = 1) AS single,
    groupArrayIf(hash, held > 1) AS repeated
FROM
(
    SELECT
        %s AS hash,
        count() AS held
    FROM ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY hash
)
GROUP BY kin
ORDER BY kin
