-- The copy of a proposal that was withdrawn is no longer current: its version must not come
-- back.
SELECT
    kind,
    subject,
    proposal_ref,
    generation,
    revision
FROM
(
    SELECT
        toString(kind) AS kind,
        subject,
        generation,
        revision
    FROM sorted_copies FINAL
) AS copies
GLOBAL ANY LEFT JOIN
(
    SELECT
        'ballots' AS kind,
        proposal_key AS subject,
        proposal_ref,
        dao_id = '' AS withdrawn
    FROM proposal_states FINAL
    WHERE proposal_key GLOBAL IN (SELECT subject FROM sorted_copies)
) AS proposals USING (kind, subject)
WHERE NOT withdrawn
ORDER BY
    kind,
    subject
