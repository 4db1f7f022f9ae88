SELECT
    proposal_ref,
    dao_id,
    provider,
    external_id
FROM proposal_states FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
    AND dao_id != ''
ORDER BY proposal_ref
