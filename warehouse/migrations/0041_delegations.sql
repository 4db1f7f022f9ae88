-- Who delegates to whom, from a block on. Of the rows of a holder the one with the greatest place
-- that is not withdrawn applies.

-- shard by: cityHash64(scope)
CREATE TABLE IF NOT EXISTS delegations
(
    -- A token, eip155:<chain>:<address>, or a space of a registry, eip155:<chain>:<address>/<space>.
    scope         LowCardinality(String),
    delegator     String CODEC(ZSTD(1)),
    -- Block, log index and the beginning of the block's hash, in the order of the chain.
    place         FixedString(20),
    block         UInt64 CODEC(T64, ZSTD(1)),
    at            Nullable(DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    -- None where the delegation ends.
    delegates     Array(String) CODEC(ZSTD(1)),
    -- Empty for a single delegate with everything.
    shares        Array(Decimal(19, 18)) CODEC(ZSTD(1)),
    withdrawn     Bool,
    fingerprint   UInt64,
    version       UInt64 CODEC(ZSTD(1)),
    discovered_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    observed_at   DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    import_id     UUID CODEC(ZSTD(1)),
    INDEX of_delegate delegates TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (scope, delegator, place);

-- The power of delegates, as tokens state it.
-- shard by: cityHash64(scope)
CREATE TABLE IF NOT EXISTS delegate_power
(
    scope         LowCardinality(String),
    delegate      String CODEC(ZSTD(1)),
    place         FixedString(20),
    block         UInt64 CODEC(T64, ZSTD(1)),
    at            Nullable(DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    power         Decimal(76, 18) CODEC(ZSTD(1)),
    withdrawn     Bool,
    fingerprint   UInt64,
    version       UInt64 CODEC(ZSTD(1)),
    discovered_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    observed_at   DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    import_id     UUID CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (scope, delegate, place);

-- The supply of tokens.
-- shard by: cityHash64(scope)
CREATE TABLE IF NOT EXISTS token_supply
(
    scope         LowCardinality(String),
    place         FixedString(20),
    block         UInt64 CODEC(T64, ZSTD(1)),
    at            Nullable(DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    supply        Decimal(76, 18) CODEC(ZSTD(1)),
    withdrawn     Bool,
    fingerprint   UInt64,
    version       UInt64 CODEC(ZSTD(1)),
    discovered_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    observed_at   DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    import_id     UUID CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (scope, place);

-- The tokens that a DAO declares, and that of a Governor.
-- shard by: cityHash64(dao_id)
ALTER TABLE daos ADD COLUMN IF NOT EXISTS tokens Array(String);

-- shard by: cityHash64(source_id)
ALTER TABLE sources ADD COLUMN IF NOT EXISTS token String;

-- The zero address is nobody. Delegations of earlier versions that name it are written again without it.
-- shard by: cityHash64(scope)
INSERT INTO delegations
SELECT * EXCEPT kept REPLACE (
    arrayFilter((delegate, keeps) -> keeps, delegates, kept) AS delegates,
    arrayFilter((share, keeps) -> keeps, shares, arrayResize(kept, length(shares))) AS shares,
    version + 1 AS version
)
FROM
(
    SELECT
        *,
        arrayMap(delegate -> NOT match(delegate, '^0x0*$'), delegates) AS kept
    FROM delegations FINAL
    WHERE has(kept, 0) AND NOT withdrawn
);
