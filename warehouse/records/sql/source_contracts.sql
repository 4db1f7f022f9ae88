-- The contracts that some DAOs name.
SELECT
    dao_id,
    id,
    name,
    functions
FROM
(
    SELECT
        dao_id,
        contract_ids,
        contract_names,
        contract_functions
    FROM daos FINAL
    WHERE dao_id IN {daos:Array(String)}
)
ARRAY JOIN
    contract_ids AS id,
    contract_names AS name,
    contract_functions AS functions
