-- The events and signals of the feed that became visible, or were written, in a span of
-- time (microseconds), without those that an endpoint has in its queue already.
SELECT
    message_id,
    message_type,
    dao_id,
    subject,
    happened_at
FROM
(
    SELECT
        event_id AS message_id,
        concat('event.', event_type) AS message_type,
        dao_id,
        if(proposal_key = '', dao_id, proposal_key) AS subject,
        event_time AS happened_at
    FROM feed_events FINAL
    WHERE basis = 'eventTime'
        AND at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND toUnixTimestamp64Milli(discovered_at) * 1000 <= {through:Int64}
        AND greatest(toInt64(revision), toUnixTimestamp64Milli(discovered_at) * 1000) > {after:Int64}

    UNION ALL

    SELECT
        signal_id,
        concat('signal.', signal_type),
        dao_id,
        if(proposal_key = '', dao_id, proposal_key),
        detected_at
    FROM feed_signals FINAL
    WHERE detected_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND toUnixTimestamp64Milli(detected_at) * 1000 <= {through:Int64}
        AND greatest(toInt64(revision), toUnixTimestamp64Milli(detected_at) * 1000) > {after:Int64}
)
WHERE message_id GLOBAL NOT IN (SELECT message_id FROM webhook_deliveries WHERE endpoint_id = {endpoint:String})
    AND ({message:String} = '' OR message_id = {message:String})
    AND (toUnixTimestamp64Milli(happened_at), message_id) > ({last_at:Int64}, {last_id:String})
ORDER BY
    happened_at,
    message_id
LIMIT {limit:UInt64}
