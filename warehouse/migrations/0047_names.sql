-- The names of voters, as each source states them. A row without a name says that the source was asked.
-- shard by: cityHash64(voter)
CREATE TABLE IF NOT EXISTS names
(
    voter         String CODEC(ZSTD(1)),
    source        LowCardinality(String),
    -- The forum of a name of a forum; empty for others.
    origin        String CODEC(ZSTD(1)),
    name          String CODEC(ZSTD(1)),
    -- The name's own record leads to the voter.
    verified      Bool,
    withdrawn     Bool,
    fingerprint   UInt64,
    version       UInt64 CODEC(ZSTD(1)),
    discovered_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    observed_at   DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    import_id     UUID CODEC(ZSTD(1)),
    INDEX of_name name TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (voter, source, origin);

-- Whether a batch has names: what shows them is published again.
-- shard by: cityHash64(batch_id)
ALTER TABLE batches ADD COLUMN IF NOT EXISTS has_names Bool;
