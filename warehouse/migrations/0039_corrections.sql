-- Changes of published results of votes that were over, one row a field. from_revision is that
-- of the publication that was corrected: workers that publish the same at once write one row.

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS corrections
(
    proposal_ref  FixedString(16),
    from_revision UInt64,
    field         LowCardinality(String),
    was           String,
    became        Nullable(String),
    reason        LowCardinality(String),
    at            DateTime64(3, 'UTC'),
    revision      UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (proposal_ref, from_revision, field);

-- What else tells whether a later result is a correction, and why. ballots_observed_at is when the
-- import of the newest ballot began, stated_fingerprint that of upstream's statement, 0 before this
-- version. confirmed says that the result is final and has every ballot, or is upstream's own.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposal_states
    ADD COLUMN IF NOT EXISTS quorum_reached Nullable(Bool),
    ADD COLUMN IF NOT EXISTS ballots_observed_at Nullable(DateTime64(3, 'UTC')),
    ADD COLUMN IF NOT EXISTS stated_fingerprint UInt64,
    ADD COLUMN IF NOT EXISTS confirmed Bool;

-- When the first import ended that read the source to its end; NULL before this version.
-- shard by: cityHash64(source_id)
ALTER TABLE syncs ADD COLUMN IF NOT EXISTS first_ended_at Nullable(DateTime64(3, 'UTC'));
