-- Whether a valid ballot for several choices states the share of each.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states ADD COLUMN IF NOT EXISTS divides_power Bool;
