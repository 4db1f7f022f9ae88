-- The actions that only functions of the DAO's contracts decode, as a JSON array.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_effects ADD COLUMN IF NOT EXISTS calls String CODEC(ZSTD(3));

-- The version of the DAO's record whose contracts the rows of a proposal follow from; 0 for a DAO that names none.
-- shard by: cityHash64(item)
ALTER TABLE feed_progress ADD COLUMN IF NOT EXISTS contracts UInt64;
