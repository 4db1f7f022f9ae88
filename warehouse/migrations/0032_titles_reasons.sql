-- What stands for the title of a proposal without one, for the views of analysts; and the ballots
-- that are in no month as far as is known.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD COLUMN IF NOT EXISTS derived_title String,
    ADD COLUMN IF NOT EXISTS undated_votes UInt64;

-- The reason of a ballot, as lists show it. Copies of format 0 lack it, and are built again.
-- shard by: generation
ALTER TABLE sorted_ballots ADD COLUMN IF NOT EXISTS shown_reason String;

-- shard by: cityHash64(subject)
ALTER TABLE sorted_copies ADD COLUMN IF NOT EXISTS copy_format UInt8;

-- As of when an import states that its records are; NULL where it does not say.
-- shard by: cityHash64(source_id)
ALTER TABLE syncs ADD COLUMN IF NOT EXISTS as_of Nullable(DateTime64(3, 'UTC'));
