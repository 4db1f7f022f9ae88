-- The contracts that a DAO names: eip155:<chain>:<address>, a name, and signatures of functions, each list in one order.
-- shard by: cityHash64(dao_id)
ALTER TABLE daos ADD COLUMN IF NOT EXISTS contract_ids Array(String);

-- shard by: cityHash64(dao_id)
ALTER TABLE daos ADD COLUMN IF NOT EXISTS contract_names Array(String);

-- shard by: cityHash64(dao_id)
ALTER TABLE daos ADD COLUMN IF NOT EXISTS contract_functions Array(Array(String));
