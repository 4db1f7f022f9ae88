SELECT
    provider,
    external_id,
    artifact_version,
    generated_at,
    dossier,
    source_refs,
    warnings
FROM evidence FINAL
WHERE (provider, external_id) IN (SELECT provider, external_id FROM wanted_identities)
ORDER BY
    provider,
    external_id
