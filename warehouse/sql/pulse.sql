SELECT
    now64(6, 'UTC') AS now,
    groupBitXor(cityHash64(table, name)) AS parts
FROM system.parts
WHERE database = currentDatabase()
    AND table IN ('batches', 'tokens', 'token_revocations', 'webhook_endpoints')
    AND active
SETTINGS max_threads = 1, log_queries = 0, log_profile_events = 0
