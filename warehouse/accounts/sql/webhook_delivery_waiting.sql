SELECT
    endpoint_id,
    count() AS messages,
    min(queued_at) AS oldest_at,
    min(due_at) AS due_at
FROM webhook_deliveries FINAL
WHERE state = 'waiting'
GROUP BY endpoint_id
