SELECT
    endpoint_id,
    at,
    message_id,
    message_type,
    attempt,
    status,
    duration_ms,
    error
FROM webhook_attempts
WHERE endpoint_id = {endpoint:String}
ORDER BY
    at DESC,
    message_id
LIMIT {limit:UInt64}
