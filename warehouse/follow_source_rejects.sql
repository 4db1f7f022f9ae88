SELECT
    provider,
    source_id,
    count() AS rejected
FROM follow_rejects FINAL
GROUP BY
    provider,
    source_id
