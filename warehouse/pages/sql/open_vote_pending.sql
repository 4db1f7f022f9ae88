-- The open votes of some DAOs after a position.
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
    AND (ifNull(toUnixTimestamp64Milli(end_at), 9223372036854775807), proposal_key) > ({after_end:Int64}, {after_key:String})
ORDER BY
    end_at ASC NULLS LAST,
    proposal_key
LIMIT {limit:UInt64}
