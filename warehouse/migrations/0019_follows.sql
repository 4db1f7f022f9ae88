-- How far each source is followed, by lane: one kind of polling that has a cursor of its
-- own. source_id is empty in the cursors that all sources of an upstream share.
-- shard by: cityHash64(upstream)
CREATE TABLE IF NOT EXISTS follows
(
    -- What is polled: "snapshot:hub.snapshot.org", "eip155:1", "discourse:forum.example.org".
    upstream     String,
    provider     LowCardinality(String),
    source_id    String,
    lane         LowCardinality(String),
    -- The cursor as JSON, in the form of the lane.
    position     String,
    -- The ranges that a backfill has read, first and last inclusive.
    covered      Array(Tuple(UInt64, UInt64)),
    -- live, backfilling, behind, limited, failing or off.
    state        LowCardinality(String),
    done         UInt64,
    total        UInt64,
    -- The time of the newest upstream item read through.
    upstream_at  Nullable(DateTime64(3, 'UTC')),
    succeeded_at Nullable(DateTime64(3, 'UTC')),
    failed_at    Nullable(DateTime64(3, 'UTC')),
    retry_at     Nullable(DateTime64(3, 'UTC')),
    failures     UInt32,
    error        String,
    gaps         UInt64,
    withdrawn    UInt64,
    rejected     UInt64,
    reorgs       UInt64,
    version      UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (upstream, provider, source_id, lane);

-- What a follower remembers of one upstream item between polls: when a proposal was last
-- seen, or its votes were last read to the end.
-- shard by: cityHash64(upstream)
CREATE TABLE IF NOT EXISTS followed_items
(
    upstream  String,
    provider  LowCardinality(String),
    source_id String,
    item_id   String,
    -- As JSON, in the form of the provider.
    note      String,
    version   UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (upstream, provider, source_id, item_id);

-- Every log of followed Governors and their timelocks, as published. Proposals and ballots
-- are computed from them.
-- shard by: cityHash64(chain_id, governor)
CREATE TABLE IF NOT EXISTS chain_logs
(
    chain_id     UInt64,
    -- The address of the Governor, in lower case.
    governor     String,
    -- Decimal; the id of the operation, 0x…, for logs of a timelock; empty for other logs
    -- about no proposal.
    proposal_id  String,
    -- In lower case; empty for logs other than votes.
    voter        String,
    block_number UInt64,
    block_hash   String,
    log_index    UInt32,
    address      String,
    tx_hash      String,
    block_at     DateTime64(3, 'UTC'),
    topics       Array(String),
    data         String CODEC(ZSTD(1)),
    -- The block was replaced by another.
    withdrawn    Bool,
    version      UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (chain_id, governor, proposal_id, voter, block_number, block_hash, log_index);

-- Items of upstream that are no valid record, until they are read again.
-- shard by: cityHash64(upstream)
CREATE TABLE IF NOT EXISTS follow_rejects
(
    upstream  String,
    provider  LowCardinality(String),
    source_id String,
    item_id   String,
    reason    String,
    -- Truncated to 4 KiB.
    text      String,
    at        DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(at)
ORDER BY (upstream, provider, source_id, item_id)
TTL toDateTime(at) + INTERVAL 90 DAY;
