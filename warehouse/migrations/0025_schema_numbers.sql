-- number is that of the last migration that ran. oldest is the number of the earliest version
-- that works on the schema. A version of a lower number than the schema leaves it as it is.
ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS number UInt32;
ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS oldest UInt32;
