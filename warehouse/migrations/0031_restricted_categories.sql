-- Topics of categories that not everybody may read are withheld.
-- shard by: cityHash64(host)
ALTER TABLE categories ADD COLUMN IF NOT EXISTS restricted Bool;
