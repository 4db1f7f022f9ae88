-- What the actions of a proposal come to, and the findings about them, as JSON arrays: computed with events and
-- signals.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_effects
(
    proposal_ref FixedString(16),
    effects      String CODEC(ZSTD(3)),
    findings     String CODEC(ZSTD(3)),
    revision     UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref;
