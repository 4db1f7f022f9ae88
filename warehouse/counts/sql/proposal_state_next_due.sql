SELECT min(next_change_at)
FROM proposal_states FINAL
WHERE next_change_at > fromUnixTimestamp64Milli(toInt64(?))
