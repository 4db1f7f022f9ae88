SELECT proposal_ref
FROM proposal_states FINAL
WHERE next_change_at <= fromUnixTimestamp64Milli(toInt64(?))
ORDER BY proposal_ref
