-- How a valid ballot states its choices; empty for any.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states ADD COLUMN IF NOT EXISTS choice_form LowCardinality(String);
