-- A row that was due when it was written was told of then: see the revision. One that was replaced or
-- removed since tells nothing.
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
    FROM feed_events FINAL
    WHERE basis IN ('eventTime', 'discoveredTime')
        AND at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
        AND at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
        AND toUnixTimestamp64Milli(at) * 1000 > revision

    UNION ALL

    SELECT
        toString(dao_id),
        signal_id,
        false
    FROM feed_signals FINAL
    WHERE detected_at > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
        AND detected_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
        AND toUnixTimestamp64Milli(detected_at) * 1000 > revision
)
GROUP BY dao_id
ORDER BY dao_id
