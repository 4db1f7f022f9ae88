SELECT
    dao_id,
    name,
    source_providers,
    source_ids,
    if(empty(contract_ids), 0, version) AS contracts
FROM daos FINAL
ORDER BY dao_id
