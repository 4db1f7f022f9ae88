SELECT proposal_ref
FROM proposal_states FINAL
WHERE provider = ? AND source_id = ? AND (if(dao_id = '', withdrawn_from, dao_id) != ? OR flagged != ?)
ORDER BY proposal_ref
