SELECT DISTINCT
    host,
    external_id
FROM topics
ORDER BY
    host,
    external_id
