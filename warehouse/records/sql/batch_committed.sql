SELECT
    batch_id,
    changed_at,
    proposals,
    source_providers,
    source_ids,
    names_voters,
    ballot_proposals,
    ballot_voters,
    import_id,
    first_version,
    has_names
FROM batches FINAL
WHERE sealed = 1 AND changed_at >= fromUnixTimestamp64Micro(toInt64(?))
ORDER BY changed_at, batch_id
