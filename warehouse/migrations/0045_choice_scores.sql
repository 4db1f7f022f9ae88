-- Whether choice_powers and choice_votes are known: where they are not, they have zeros, because an
-- earlier version that is rolled back to reads as many as there are keys.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD COLUMN IF NOT EXISTS choices_scored Bool DEFAULT notEmpty(choice_powers),
    ADD COLUMN IF NOT EXISTS choices_counted Bool DEFAULT notEmpty(choice_votes);
