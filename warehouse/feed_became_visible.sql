SELECT
    dao_id,
    max(has_events) AS with_events,
    max(has_signals) AS with_signals
FROM
(
    SELECT DISTINCT
        toString(dao_id) AS dao_id,
        1 AS has_events,
        0 AS has_signals
    FROM feed_events
    WHERE basis IN ('eventTime', 'discoveredTime')
        AND at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
        AND at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')

    UNION ALL

    SELECT DISTINCT
        toString(dao_id),
        0,
        1
    FROM feed_signals
    WHERE detected_at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
        AND detected_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
)
GROUP BY dao_id
ORDER BY dao_id
