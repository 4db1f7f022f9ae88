SELECT proposal_ref
FROM proposal_states FINAL
WHERE provider = ? AND source_id = ? AND dao_id != ? AND dao_id != ''
ORDER BY proposal_ref
