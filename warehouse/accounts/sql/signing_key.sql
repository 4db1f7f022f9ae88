SELECT key
FROM signing_keys
WHERE name = ?
ORDER BY
    created_at,
    key
LIMIT 1
