SELECT
    dao_id,
    groupUniqArrayIf(id, is_event) AS event_ids,
    groupUniqArrayIf(id, NOT is_event) AS signal_ids
FROM
(
    SELECT
        toString(dao_id) AS dao_id,
        event_id AS id,
        true AS is_event
    FROM feed_events
    WHERE basis IN ('eventTime', 'discoveredTime')
        AND at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
        AND at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')

    UNION ALL

    SELECT
        toString(dao_id),
        signal_id,
        false
    FROM feed_signals
    WHERE detected_at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
        AND detected_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
)
GROUP BY dao_id
ORDER BY dao_id
