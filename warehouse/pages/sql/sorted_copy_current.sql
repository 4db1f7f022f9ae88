-- The copy of a proposal that was withdrawn is no longer current: its version must not come
-- back.
SELECT
    kind,
    subject,
    generation,
    revision
FROM sorted_copies FINAL
WHERE kind != 'ballots'
    OR subject GLOBAL NOT IN (SELECT proposal_key FROM proposal_states FINAL WHERE dao_id = '')
ORDER BY
    kind,
    subject
