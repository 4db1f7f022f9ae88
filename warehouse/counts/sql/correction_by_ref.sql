SELECT
    proposal_ref,
    from_revision,
    field,
    was AS `from`,
    became AS `to`,
    reason,
    at,
    revision
FROM corrections FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY
    proposal_ref,
    from_revision DESC,
    field
LIMIT 100 BY proposal_ref
