SELECT
    token_id,
    max(day) AS day
FROM usage_counts
WHERE token_id != ''
GROUP BY token_id
