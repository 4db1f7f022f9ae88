-- The views of analysts leave out what an open batch has written: every record of a batch
-- has this version or a later one. The default is for batches of the previous version.
-- shard by: cityHash64(batch_id)
ALTER TABLE batches ADD COLUMN IF NOT EXISTS first_version UInt64
    DEFAULT toUInt64(toUnixTimestamp64Micro(changed_at)) - 10000000;
