-- How many choices a valid ballot of a vote names, 0 and 0 where that is not known; and what each
-- of its choices means for the outcome: for, against, abstain, or nothing.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD COLUMN IF NOT EXISTS least_choices UInt16,
    ADD COLUMN IF NOT EXISTS most_choices UInt16,
    ADD COLUMN IF NOT EXISTS choice_verdicts Array(LowCardinality(String));

-- The proposals that a topic is about.
-- shard by: cityHash64(host, external_id)
ALTER TABLE topic_states ADD COLUMN IF NOT EXISTS proposal_keys Array(String);
