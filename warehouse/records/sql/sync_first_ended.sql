SELECT
    provider,
    source_id,
    coalesce(first_ended_at, synced_at) AS ended_at,
    as_of
FROM syncs FINAL
WHERE kind = {kind:String}
    AND (provider, source_id) IN (SELECT arrayJoin(arrayZip({providers:Array(String)}, {ids:Array(String)})))
