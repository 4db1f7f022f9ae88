-- The events and signals of the feed that became visible, or were written, in a span of
-- time (microseconds), without those that an endpoint has in its queue already: all but those
-- that had left the feed.
SELECT
    message_id,
    message_type,
    dao_id,
    subject,
    happened_at,
    queued.next AS version
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
) AS message
GLOBAL LEFT JOIN
(
    SELECT
        message_id,
        state,
        version + 1 AS next
    FROM webhook_deliveries FINAL
    WHERE endpoint_id = {endpoint:String}
) AS queued USING (message_id)
WHERE queued.state IN ('', 'withdrawn')
    AND ({message:String} = '' OR message_id = {message:String})
    AND (toUnixTimestamp64Milli(happened_at), message_id) > ({last_at:Int64}, {last_id:String})
ORDER BY
    happened_at,
    message_id
LIMIT {limit:UInt64}
