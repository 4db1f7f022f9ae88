-- What a source states and is not held, in words; empty for nothing.
-- shard by: cityHash64(upstream)
ALTER TABLE follows ADD COLUMN IF NOT EXISTS lacks String;
