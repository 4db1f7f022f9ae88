-- All proposals of a space that its provider marks as spam are spam.

-- shard by: cityHash64(source_id)
ALTER TABLE sources ADD COLUMN IF NOT EXISTS flagged Bool;
