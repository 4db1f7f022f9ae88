SELECT
    proposal_ref,
    title
FROM proposals FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY proposal_ref
