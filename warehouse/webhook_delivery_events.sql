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
    AND at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    AND event_id IN {ids:Array(String)}
