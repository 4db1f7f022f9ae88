SELECT
    event_id,
    event_type,
    event_time AS event_time_ms,
    discovered_at,
    confidence AS event_time_confidence,
    dao_id,
    item_type,
    proposal_key,
    title,
    url,
    importance AS importance_score
FROM feed_events FINAL
WHERE basis = 'eventTime'
    AND at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    AND dao_id = {dao:String}
ORDER BY
    at,
    event_id
