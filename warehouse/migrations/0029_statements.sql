-- What upstream states of a vote beside its scores: whether they are final, the number of ballots
-- of each choice, and what the quorum is needed for.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals
    ADD COLUMN IF NOT EXISTS scores_state LowCardinality(String),
    ADD COLUMN IF NOT EXISTS stated_choice_votes Array(UInt64),
    ADD COLUMN IF NOT EXISTS quorum_type LowCardinality(String);
