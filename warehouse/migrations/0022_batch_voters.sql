-- The ballots of a small batch, by proposal and voter, so that a publisher recounts these
-- voters alone. A batch of the previous version, or one with many ballots, names none.
-- shard by: cityHash64(batch_id)
ALTER TABLE batches
    ADD COLUMN IF NOT EXISTS names_voters Bool,
    ADD COLUMN IF NOT EXISTS ballot_proposals Array(FixedString(16)),
    ADD COLUMN IF NOT EXISTS ballot_voters Array(String);
