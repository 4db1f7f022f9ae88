-- Takes the waiting messages of an endpoint out of its queue.
INSERT INTO webhook_deliveries
SELECT
    endpoint_id,
    message_id,
    message_type,
    subject,
    happened_at,
    'dropped',
    attempts,
    queued_at,
    due_at,
    version + 1
FROM webhook_deliveries FINAL
WHERE endpoint_id = {endpoint:String}
    AND state = 'waiting'
