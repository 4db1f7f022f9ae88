SELECT arrayJoin(data_paths) AS path
FROM system.tables
WHERE database = currentDatabase()
    AND name IN ('batches', 'tokens', 'token_revocations', 'webhook_endpoints')
ORDER BY path
