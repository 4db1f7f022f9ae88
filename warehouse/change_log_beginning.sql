SELECT
    at_ms,
    number
FROM changes
WHERE epoch = {epoch:UInt64}
ORDER BY
    at_ms DESC,
    number DESC
LIMIT 1 OFFSET {rows:UInt64}
