SELECT
    proposal_ref,
    dao_id,
    provider,
    external_id
FROM proposal_states FINAL
WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)
ORDER BY proposal_ref
