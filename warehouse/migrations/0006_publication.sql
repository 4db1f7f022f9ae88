-- The journal that tells a publisher what changed. A batch is opened before its records
-- are written and committed after (sealed = 1), so that no record stays unpublished: the
-- open batches of a killed import are committed later.
-- shard by: cityHash64(batch_id)
CREATE TABLE IF NOT EXISTS batches
(
    batch_id         UUID,
    import_id        UUID,
    sealed           UInt8,
    changed_at       DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC'),
    -- What the batch changes: proposals by reference, sources by provider and id.
    proposals        Array(FixedString(16)),
    source_providers Array(String),
    source_ids       Array(String)
)
ENGINE = ReplacingMergeTree(sealed)
ORDER BY batch_id
TTL toDateTime(changed_at) + INTERVAL 30 DAY WHERE sealed = 1;

-- What the last publication of each proposal computed: the states and totals that the
-- numbers of its DAO are sums of.
-- shard by: cityHash64(proposal_ref)
CREATE TABLE IF NOT EXISTS proposal_states
(
    proposal_ref   FixedString(16),
    proposal_key   String,
    dao_id         String,
    provider       LowCardinality(String),
    source_id      LowCardinality(String),
    external_id    String,
    lifecycle      LowCardinality(String),
    outcome        LowCardinality(String),
    coverage       LowCardinality(String),
    vote_ready     Bool,
    votes          UInt64,
    power          Decimal(76, 18),
    choice_keys    Array(String),
    choice_labels  Array(String),
    choice_votes   Array(UInt64),
    choice_powers  Array(Decimal(76, 18)),
    -- Ballots with a known time by the month of it, as YYYYMM.
    vote_months    Array(UInt32),
    vote_counts    Array(UInt64),
    created_at     Nullable(DateTime64(3, 'UTC')),
    updated_at     Nullable(DateTime64(3, 'UTC')),
    start_at       Nullable(DateTime64(3, 'UTC')),
    end_at         Nullable(DateTime64(3, 'UTC')),
    last_voted_at  Nullable(DateTime64(3, 'UTC')),
    -- When the passing of time alone changes the lifecycle.
    next_change_at Nullable(DateTime64(3, 'UTC')),
    quality_flags  Array(LowCardinality(String)),
    revision       UInt64
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY proposal_ref;

-- Keys that outlive Redis and are the same for every process: the secret that encrypts cursors.
-- shard by: cityHash64(name)
CREATE TABLE IF NOT EXISTS signing_keys
(
    name       LowCardinality(String),
    key        String,
    created_at DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY (name, created_at);
