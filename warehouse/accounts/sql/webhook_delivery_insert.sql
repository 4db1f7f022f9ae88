INSERT INTO webhook_deliveries
(
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
)
