-- The fingerprint of the ballots that a sorted copy was built of; 0 where it is not known.
-- shard by: cityHash64(subject)
ALTER TABLE sorted_copies ADD COLUMN IF NOT EXISTS fingerprint UInt64;
