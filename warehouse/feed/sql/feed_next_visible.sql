SELECT toInt64(min(visible_at))
FROM
(
    SELECT toUnixTimestamp64Milli(at) AS visible_at
    FROM feed_events
    WHERE basis IN ('eventTime', 'discoveredTime') AND at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')

    UNION ALL

    SELECT toUnixTimestamp64Milli(detected_at)
    FROM feed_signals
    WHERE detected_at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
)
