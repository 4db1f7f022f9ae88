-- The open votes of some DAOs.
SELECT
    proposal_ref AS ref,
    proposal_key AS key,
    dao_id,
    provider,
    source_id,
    start_at,
    end_at
FROM proposal_states FINAL
WHERE dao_id IN {daos:Array(String)}
    AND lifecycle = 'active'
    AND NOT flagged
    AND (end_at IS NULL OR end_at > now64(3))
ORDER BY
    end_at ASC NULLS LAST,
    proposal_key
LIMIT {limit:UInt64}
