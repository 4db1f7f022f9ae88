SELECT
    batch_id,
    changed_at,
    proposals,
    source_providers,
    source_ids
FROM batches FINAL
WHERE sealed = 1 AND changed_at >= fromUnixTimestamp64Micro(toInt64(?))
ORDER BY changed_at, batch_id
