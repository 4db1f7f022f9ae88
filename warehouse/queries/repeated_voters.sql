-- Most voters have one row: one cast, in one version. The hashes of the others say
-- which rows have to be picked from; two voters that share one are among them, and
-- nothing is lost but time. Reads the front of the key alone.
SELECT
    proposal_ref,
    countIf(held = 1) AS single,
    groupArrayIf(hash, held > 1) AS repeated
FROM
(
    SELECT
        proposal_ref,
        cityHash64(proposal_ref, voter) AS hash,
        count() AS held
    FROM ballots
    WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    GROUP BY
        proposal_ref,
        hash
)
GROUP BY proposal_ref
ORDER BY proposal_ref
