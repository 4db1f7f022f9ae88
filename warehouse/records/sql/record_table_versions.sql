SELECT
    %s,
    argMax(fingerprint, version) AS latest_fingerprint,
    max(version) AS latest_version,
    argMax(discovered_at, version) AS first_discovered_at,
    argMax(import_id, version) AS latest_import_id
FROM %s
WHERE (%s) IN (SELECT %s FROM batch_keys)
GROUP BY %s
