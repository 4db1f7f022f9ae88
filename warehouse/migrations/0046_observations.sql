-- What calls to the nodes of a chain showed of what a proposal executes: the addresses that it involves and
-- the simulation of its calls, as JSON.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS observations
(
    proposal_ref  FixedString(16),
    payload       String,
    block         UInt64,
    at            DateTime64(3, 'UTC'),
    addresses     String CODEC(ZSTD(3)),
    simulation    String CODEC(ZSTD(3)),
    earlier       String CODEC(ZSTD(3)),
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY proposal_ref;
