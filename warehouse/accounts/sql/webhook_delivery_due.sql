-- What each of some endpoints should get now, in order. A subject with a message that waits
-- for its next attempt waits as a whole.
SELECT
    endpoint_id,
    message_id,
    message_type,
    subject,
    happened_at,
    state,
    attempts,
    queued_at,
    due_at,
    version
FROM webhook_deliveries FINAL
WHERE endpoint_id IN {endpoints:Array(String)}
    AND state = 'waiting'
    AND (endpoint_id, subject) GLOBAL NOT IN
    (
        SELECT
            endpoint_id,
            subject
        FROM webhook_deliveries FINAL
        WHERE endpoint_id IN {endpoints:Array(String)}
            AND state = 'waiting'
            AND due_at > fromUnixTimestamp64Milli({now:Int64}, 'UTC')
    )
ORDER BY
    endpoint_id,
    happened_at,
    message_id
LIMIT {limit:UInt64} BY endpoint_id
