-- What proposals execute.

-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS actions
(
    proposal_ref  FixedString(16),
    action_id     String,
    position      UInt32,
    chain         LowCardinality(String),
    executor      String,
    target        String,
    value         String,
    signature     String,
    calldata      String CODEC(ZSTD(3)),
    delegate      Bool,
    block         UInt64,
    tx_hash       String,
    log_index     UInt32,
    withdrawn     Bool,
    kind          LowCardinality(String),
    function      LowCardinality(String),
    arguments     String CODEC(ZSTD(3)),
    inner_calls   UInt32,
    undecoded     String,
    fingerprint   UInt64,
    version       UInt64,
    discovered_at DateTime64(3, 'UTC'),
    observed_at   DateTime64(3, 'UTC'),
    import_id     UUID
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (proposal_ref, action_id);

-- How many actions upstream states; NULL where it states nothing of them.
-- shard by: cityHash64(proposal_ref)
ALTER TABLE proposals ADD COLUMN IF NOT EXISTS stated_actions Nullable(UInt64);
