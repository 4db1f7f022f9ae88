SELECT
    proposal_ref,
    provider,
    source_id
FROM proposals FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
