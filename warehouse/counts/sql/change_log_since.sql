SELECT
    at_ms,
    number,
    kind,
    key,
    dao_id,
    changed_at,
    revision
FROM changes
WHERE epoch = {epoch:UInt64} AND (at_ms, number) > ({at_ms:UInt64}, {number:UInt64})
ORDER BY
    at_ms,
    number
