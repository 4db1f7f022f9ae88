-- What the vote summary shows, beside votes and power, which are those of the ballots held. basis is
-- upstream or ballots, and empty where there are no numbers. total_votes is NULL, and choice_votes
-- empty, where upstream does not state them. settled says that the totals decide.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD COLUMN IF NOT EXISTS basis LowCardinality(String),
    ADD COLUMN IF NOT EXISTS total_votes Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS total_power Decimal(76, 18),
    ADD COLUMN IF NOT EXISTS settled Bool;
