SELECT
    dao_id,
    name,
    source_providers,
    source_ids
FROM daos FINAL
ORDER BY dao_id
